import { Command, InvalidArgumentError } from 'commander';
import { runUpgrade, type Upgrade } from './run-upgrade.js';

/** The longest a statement of the old version may wait for the upgrade. */
const MOST_MS = 1_000;

const command = new Command('upgrade')
  .description(
    'R25: upgrades a large PostgreSQL database under traffic, and says what the traffic waited for.',
  )
  .option('--rows <number>', 'tasks in the database', wholeNumber, 2_000_000)
  .option('--json', 'one JSON object on standard output')
  .parse(process.argv);
const { rows, json } = command.opts<{ rows: number; json?: boolean }>();

const upgrade = await runUpgrade(rows, (text) => void process.stderr.write(`${text}\n`));
const tooLong = upgrade.steps.flatMap(({ name, longestMs }) =>
  Object.entries(longestMs)
    .filter(([, ms]) => ms > MOST_MS)
    .map(([kind, ms]) => `${name}: a statement of kind ${kind} took ${ms} ms, more than ${MOST_MS}`),
);
const problems = [...upgrade.problems, ...tooLong];
process.stdout.write(
  json === true ? `${JSON.stringify({ ...upgrade, problems })}\n` : table(upgrade, problems),
);
process.exitCode = problems.length === 0 ? 0 : 1;

function table({ tasks, configs, steps }: Upgrade, found: readonly string[]): string {
  const kinds = [...new Set(steps.flatMap(({ longestMs }) => Object.keys(longestMs)))];
  const lines = [
    `${tasks} tasks, ${configs} push configs; the longest statement of each kind in ms`,
    `| step | took s | ${kinds.join(' | ')} |`,
    `| --- | ---: | ${kinds.map(() => '---:').join(' | ')} |`,
    ...steps.map(
      ({ name, tookMs, longestMs }) =>
        `| ${name} | ${(tookMs / 1_000).toFixed(1)} | ${kinds.map((kind) => longestMs[kind] ?? '').join(' | ')} |`,
    ),
    ...found,
  ];
  return `${lines.join('\n')}\n`;
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1_000 && value <= 100_000_000) return value;
  throw new InvalidArgumentError('It must be a whole number from 1000 to 100000000.');
}
