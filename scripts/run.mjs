// The root commands: each does the set-up that is missing, then its work.
//   node scripts/run.mjs demo|test|faults|bench|build|lint|typecheck [arguments]
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { prepare, root, run, say, turbo } from './workspace.mjs';

const node = process.execPath;
const bin = (file) => path.join(root, 'node_modules', file);
const shown = { stdout: 'inherit' };

async function demo(args) {
  await prepare();
  return run(node, ['scripts/demo.mjs', ...args], shown);
}

/** The fault scenarios; `-- --help` says what there is. */
async function faults(args) {
  await prepare();
  return run(node, ['test/faults/dist/main.js', ...args], shown);
}

/** R25: an upgrade of a large PostgreSQL database under traffic; `-- --rows N`. */
async function upgrade(args) {
  await prepare();
  return run(node, ['test/faults/dist/upgrade/main.js', ...args], shown);
}

/** The benchmarks; `-- --help` says what there is. */
async function bench(args) {
  await prepare();
  return run(node, ['bench/dist/main.js', ...args], shown);
}

/** Tests with real processes and real time come one by one: beside each other they would measure the machine. */
const scenarios =
  '(test/(integration|deploy|browser|migrations/(rolling|upgrade))|apps/clustermode/test/processes|contention|test/faults/test/(tools/|failpoints|checker-real))';
const parts = {
  units: ['--testPathIgnorePatterns', '/node_modules/', '/dist/', scenarios],
  scenarios: ['--runInBand', '--testPathPatterns', scenarios],
};

/** With arguments: one jest with them. Without: every test, in two parts, each with a report in `.data`. */
async function test(args) {
  await prepare();
  const node20 = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  const jest = (more) => run(node, [...node20, bin('jest/bin/jest.js'), ...more], shown);
  if (args.length > 0) return jest(args);
  mkdirSync(path.join(root, '.data'), { recursive: true });
  const failed = [];
  for (const [name, choice] of Object.entries(parts)) {
    const report = ['--json', `--outputFile=.data/test-report-${name}.json`];
    if ((await jest([...choice, ...report])) !== 0) failed.push(name);
  }
  say(failed.length === 0 ? 'Tests: all passed.' : `Tests failed: ${failed.join(', ')}`);
  return failed.length === 0 ? 0 : 1;
}

async function build() {
  await prepare();
  say('Built.');
  return 0;
}

async function typecheck() {
  await prepare();
  await turbo('typecheck');
  // The tests in a browser know the names of a browser too.
  const projects = ['test/tsconfig.json', 'test/browser/tsconfig.json'];
  const codes = [];
  for (const project of projects)
    codes.push(await run(node, [bin('typescript/bin/tsc'), '-p', project], shown));
  return Math.max(...codes);
}

/** Every check runs, whatever the ones before it said. */
async function lint() {
  await prepare({ withBuild: false });
  const checks = [
    ['eslint', [bin('eslint/bin/eslint.js'), '.']],
    ['prettier', [bin('prettier/bin/prettier.cjs'), '--check', '--log-level', 'warn', '.']],
    ['layers', ['scripts/check-layers.mjs']],
    ['schemas', ['scripts/schemas.mjs', '--check']],
  ];
  const failed = [];
  for (const [name, args] of checks) if ((await run(node, args, shown)) !== 0) failed.push(name);
  say(failed.length === 0 ? 'Lint: nothing to complain about.' : `Lint failed: ${failed.join(', ')}`);
  return failed.length === 0 ? 0 : 1;
}

const commands = { demo, test, faults, upgrade, bench, build, lint, typecheck };
const [name = '', ...args] = process.argv.slice(2);
if (!Object.hasOwn(commands, name)) {
  say(`usage: node scripts/run.mjs ${Object.keys(commands).join('|')}`);
  process.exit(1);
}
process.exitCode = await commands[name](args);
