import { availableProviders, type TestProvider } from '@a2a-cluster/testing';
import { checkHistory, mergedHistory } from './checker/check.js';
import { readCommandLine, type Wish } from './command-line.js';
import { loadHistory } from './history/file.js';
import { runMutations } from './mutation-run.js';
import { resultText, resultsJson, resultsTable, violationText } from './report.js';
import { abandonRun, runScenario, type RunResult } from './run-scenario.js';
import type { Scenario } from './scenario.js';
import { scenarios } from './scenarios/index.js';
import { endAll } from './tools/owned.js';

const EXIT_VIOLATION = 1;
const EXIT_USAGE = 64;
/** How long it takes to end a run that was interrupted. */
const LAST_WORDS_MS = 5_000;

const exitCode = await main(readCommandLine(process.argv.slice(2)));
// Not left to the platform: on its way out Node 20 waits for the closing of every handle, and for one of a connection
// that was reset or a process that was killed it was seen to wait for ever.
process.stdout.write('', () => process.exit(exitCode));

function stopAtOnce(): never {
  endAll();
  process.exit(EXIT_VIOLATION);
}

async function main(wish: Wish): Promise<number> {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      // A second signal, or a database that does not answer, must not keep it here.
      setTimeout(stopAtOnce, LAST_WORDS_MS);
      process.once(signal, stopAtOnce);
      void abandonRun().finally(stopAtOnce);
    });
  if (wish.list) return list();
  if (wish.check !== undefined) return judgeFile(wish.check);
  const unknown = wish.ids.filter((id) => !scenarios.some((scenario) => scenario.id === id));
  if (unknown.length > 0) {
    say(`There is no scenario ${unknown.join(', ')}; there are ${scenarios.map(({ id }) => id).join(' ')}.`);
    return EXIT_USAGE;
  }
  const providers = availableProviders().filter(
    (each) => wish.database === undefined || each === wish.database,
  );
  if (providers.length === 0) {
    say(`No ${wish.database} server answers: start one, or name it in TEST_POSTGRES_URL or TEST_MYSQL_URL.`);
    return EXIT_USAGE;
  }
  if (wish.mutations) return runMutations({ wish, providers, scenarios, say, print });
  return runAll(wish, providers);
}

async function runAll(wish: Wish, providers: readonly TestProvider[]): Promise<number> {
  const results: RunResult[] = [];
  for (let run = 0; run < wish.runs; run += 1) {
    for (const scenario of scenarios.filter((each) => isWished(each, wish))) {
      for (const provider of providers.filter((each) => scenario.databases.includes(each))) {
        const missing = scenario.missing?.(provider) ?? null;
        if (missing !== null) say(`skipped: ${scenario.id} on ${provider}, ${missing}`);
        else results.push(await runOne({ wish, scenario, provider, seed: wish.seed + run }));
      }
    }
  }
  const failed = results.filter((result) => !result.ok);
  if (wish.json) print(resultsJson(results, wish.seed));
  else if (wish.markdown) print(resultsTable(results));
  else print(`${results.length} runs, ${failed.length} with violations; seed ${wish.seed}`);
  return results.length > 0 && failed.length === 0 ? 0 : EXIT_VIOLATION;
}

interface One {
  readonly wish: Wish;
  readonly scenario: Scenario;
  readonly provider: TestProvider;
  readonly seed: number;
}

async function runOne({ wish, scenario, provider, seed }: One): Promise<RunResult> {
  say(`-- ${scenario.id} on ${provider}: ${scenario.title} (seed ${seed})`);
  const { size, minutes, keep } = wish;
  const result = await runScenario({
    ...{ scenario, provider, seed, size, minutes, keep },
    say: (text) => say(`   ${text}`),
  });
  if (wish.json || wish.markdown) say(resultText(result));
  else print(resultText(result));
  return result;
}

function isWished(scenario: Scenario, wish: Wish): boolean {
  if (wish.ids.length > 0) return wish.ids.includes(scenario.id);
  return wish.size === 'quick' ? scenario.quick === true : scenario.onlyByName !== true;
}

function list(): number {
  for (const { id, title, databases, quick, onlyByName } of scenarios) {
    const marks = [quick ? 'quick' : '', onlyByName ? 'only by name' : ''].filter((mark) => mark !== '');
    print(`${id.padEnd(4)} ${title} (${[databases.join(', '), ...marks].join('; ')})`);
  }
  return 0;
}

async function judgeFile(file: string): Promise<number> {
  const history = await loadHistory(file);
  const violations = checkHistory(history);
  const named = new Set(violations.flatMap(({ taskId }) => taskId ?? []));
  print(`${history.scenario} on ${history.database}, seed ${history.seed}: ${violations.length} violations`);
  for (const violation of violations) print(violationText(violation));
  for (const taskId of named)
    print(`task ${taskId}:`, ...mergedHistory(history, taskId).map((line) => `  ${line}`));
  return violations.length === 0 ? 0 : EXIT_VIOLATION;
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

function print(...lines: readonly string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}
