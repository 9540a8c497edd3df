// Writes down what a version sends to its databases, so that later versions can prove that their schema still takes it:
//   node scripts/record-release.mjs NAME [--from FOLDER]
// Runs the contract of the statements in FOLDER (default: here), a checkout with its dependencies installed and its
// clients generated, on every database, and writes test/migrations/releases/NAME. Done once per release, and committed.
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { chooseCalls } from './record-release/choose.mjs';
import { root, say } from './workspace.mjs';

const RECORDER = 'packages/db/test/support/record-statements.ts';
const CONTRACTS = { sqlite: 'sqlite-contract', postgresql: 'postgresql', mysql: 'mysql' };

const [name, flag, folder] = process.argv.slice(2);
if (!/^[\w.-]+$/.test(name ?? '') || (flag !== undefined && (flag !== '--from' || folder === undefined))) {
  say('usage: node scripts/record-release.mjs NAME [--from FOLDER]');
  process.exit(64);
}
const checkout = path.resolve(folder ?? root);
const recorder = path.join(checkout, RECORDER);
const lent = !existsSync(recorder);
if (lent) copyFileSync(path.join(root, RECORDER), recorder);
const scratch = mkdtempSync(path.join(tmpdir(), 'a2a-record-'));

function record(provider) {
  const lines = path.join(scratch, `${provider}.jsonl`);
  const node = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  const jest = ['node_modules/jest/bin/jest.js', '-i', `packages/db/test/${CONTRACTS[provider]}.test.ts`];
  const { status } = spawnSync(
    process.execPath,
    [...node, ...jest, '--setupFilesAfterEnv', `./${RECORDER}`],
    {
      cwd: checkout,
      env: { ...process.env, RECORD_STATEMENTS: lines },
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  if (status !== 0) throw new Error(`the contract failed on ${provider}: nothing is written`);
  return readFileSync(lines, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

const migrationsOf = (provider) =>
  readdirSync(path.join(checkout, 'prisma', provider, 'migrations'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();

/** One call per line, so that a change of a recording can be read. */
function text({ migrations, statements, sessions, tests }) {
  const list = (items, indent) => items.map((item) => `${indent}${JSON.stringify(item)}`).join(',\n');
  const stories = tests.map(
    (test) => `  {"name": ${JSON.stringify(test.name)}, "calls": [\n${list(test.calls, '    ')}\n  ]}`,
  );
  return `{
"migrations": ${JSON.stringify(migrations)},
"statements": [\n${list(statements, '  ')}\n],
"sessions": ${JSON.stringify(sessions)},
"tests": [\n${stories.join(',\n')}\n]
}\n`;
}

try {
  const target = path.join(root, 'test/migrations/releases', name);
  mkdirSync(target, { recursive: true });
  for (const provider of Object.keys(CONTRACTS)) {
    const chosen = chooseCalls(record(provider));
    writeFileSync(
      path.join(target, `${provider}.json`),
      text({ migrations: migrationsOf(provider), ...chosen }),
    );
    const calls = chosen.tests.reduce((sum, test) => sum + test.calls.length, 0);
    say(
      `${provider}: ${chosen.statements.length} statements, ${calls} calls of ${chosen.tests.length} tests`,
    );
    for (const shape of chosen.left) say(`  left out: ${shape.slice(0, 200)}`);
  }
} finally {
  if (lent) rmSync(recorder);
  rmSync(scratch, { recursive: true, force: true });
}
