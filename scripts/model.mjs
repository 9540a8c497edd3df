// `npm run model`: the lease protocol, checked exhaustively by Spin; docs/model.md says what and how far.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { cpus } from 'node:os';
import { checkTools, runModel, stopRuns } from './model-run.mjs';
import { root, say } from './workspace.mjs';

const help = `usage: npm run model [-- options]
  Checks the models in test/model with Spin, then that each mutation of the protocol breaks a property.
  --mutations     only the mutations; each one has to break its property
  --properties    only the protocol as it is
  --only <text>   only runs whose name, property or flag contains the text
  --jobs <n>      runs at once (default ${Math.min(2, cpus().length)})
  --json          one JSON object on standard output
  --help
exit codes: 0 as expected, 1 a property is violated, a search was not complete or a mutation survives, 2 wrong options,
69 spin or a C compiler is missing`;

/** Every lease may expire, and every late beat may land, at any time. */
const ANY = { EXPIRIES: 9, LATE_BEATS: 9 };
const SAFETY = 'I1 I3 I4 I7 I10 pending parked refused message cancel sweep';
const SMALL = { R: 2, M: 1, EVENTS: 1, LOSSES: 1, CRASHES: 1, ...ANY };

const options = parse(process.argv.slice(2));
if (options === null) process.exitCode = 2;
else if (options.help) process.stdout.write(`${help}\n`);
else process.exitCode = await main();

function parse(args) {
  const parsed = { mutations: true, properties: true, only: '', jobs: Math.min(2, cpus().length) };
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (arg === '--mutations') parsed.properties = false;
    else if (arg === '--properties') parsed.mutations = false;
    else if (arg === '--only') parsed.only = rest.shift() ?? '';
    else if (arg === '--jobs') parsed.jobs = Number(rest.shift());
    else if (arg === '--json') parsed.json = true;
    else if (arg === '--help') parsed.help = true;
    else return wrong(`unknown option ${arg}`);
  }
  if (!Number.isInteger(parsed.jobs) || parsed.jobs < 1) return wrong('--jobs takes a number above 0');
  if (!parsed.mutations && !parsed.properties)
    return wrong('--mutations and --properties exclude each other');
  return parsed;
}

function wrong(text) {
  say(`${text}\n${help}`);
  return null;
}

function plan() {
  const runs = JSON.parse(readFileSync(path.join(root, 'test/model/runs.json'), 'utf8'));
  const properties = [
    ...runs.safety.map((run) => ({ property: SAFETY, ...run, bounds: { ...run.bounds, ...ANY } })),
    ...runs.beat.map((run) => ({ ...run, model: 'beat' })),
    ...runs.liveness.map((run) => ({ ...run, ltl: run.property })),
    ...runs.gaps.map((run) => ({
      ...run,
      name: `known gap: ${run.name}`,
      ltl: run.model === 'lease' ? run.property : undefined,
      expected: 'violated',
    })),
  ];
  const mutations = runs.mutations.map((run) => ({
    name: `without: ${run.rule}`,
    model: run.model ?? 'lease',
    property: run.breaks,
    flag: run.flag,
    ltl: run.ltl,
    bounds: {
      ...(run.model === 'beat' || run.ltl ? {} : SMALL),
      ...run.bounds,
      [run.flag]: 1,
      ONLY: run.only ?? 0,
    },
    expected: 'violated',
    mutation: true,
  }));
  const text = ({ name, property, flag = '' }) => `${name} ${property} ${flag}`;
  return [...(options.properties ? properties : []), ...(options.mutations ? mutations : [])]
    .map((run) => ({ model: 'lease', expected: 'holds', ...run }))
    .filter((run) => text(run).includes(options.only));
}

async function main() {
  const missing = checkTools();
  if (missing !== null) {
    say(missing);
    return 69;
  }
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.once(signal, () => {
      stopRuns();
      process.exit(1);
    });
  const waiting = plan();
  if (waiting.length === 0) return wrong(`no run contains "${options.only}"`) ?? 2;
  const results = [];
  const startedAt = performance.now();
  const worker = async () => {
    for (let run = waiting.shift(); run !== undefined; run = waiting.shift()) {
      const result = { ...run, ...(await runModel(run)) };
      result.ok = result.verdict === run.expected;
      results.push(result);
      if (!options.json) print(result);
    }
  };
  await Promise.all(Array.from({ length: options.jobs }, worker));
  const seconds = round((performance.now() - startedAt) / 1000);
  const failed = results.filter((result) => !result.ok);
  if (options.json)
    process.stdout.write(`${JSON.stringify({ ok: failed.length === 0, seconds, results })}\n`);
  else summary(results, { failed, seconds });
  return failed.length === 0 ? 0 : 1;
}

function print(result) {
  const { name, property, states, seconds, verdict, ok, mutation, trail, bounds, problem } = result;
  const shown = mutation
    ? ''
    : ` (${Object.entries(bounds)
        .map(([key, value]) => `${key}=${value}`)
        .join(' ')})`;
  process.stdout.write(
    `${ok ? 'ok  ' : 'FAIL'} ${name}${shown}\n     ${property}: ${verdict}, ${states} states, ${round(seconds)} s\n`,
  );
  if (problem) process.stdout.write(`     ${problem}\n`);
  if (!ok || (result.expected === 'violated' && !mutation))
    for (const line of trail) process.stdout.write(`       ${line}\n`);
}

function summary(results, { failed, seconds }) {
  const mutants = results.filter((result) => result.mutation);
  if (mutants.length > 0) process.stdout.write('\nrule taken away -> property that breaks\n');
  for (const { flag, name, property, verdict } of mutants)
    process.stdout.write(
      `  ${name.replace('without: ', '').padEnd(32)} ${flag.padEnd(18)} -> ${verdict === 'violated' ? property : `NOTHING (${verdict})`}\n`,
    );
  process.stdout.write(
    `\n${results.length} runs in ${seconds} s, ${failed.length === 0 ? 'all as expected' : `${failed.length} not as expected`}.\n`,
  );
}

function round(seconds) {
  return Math.round(seconds * 10) / 10;
}
