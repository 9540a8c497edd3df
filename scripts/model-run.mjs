// One run of Spin: generate, compile, search the whole state space, read the verdict.
import { execFile, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { root } from './workspace.mjs';

const KINDS = ['ARTIFACT', 'WORKING', 'INPUT_REQUIRED', 'COMPLETED', 'FAILED', 'CANCELED'];
const MEMORY_MB = 1800;
const DEPTH = 400_000;

const folders = new Set();
const children = new Set();

/** An interrupted check leaves neither a search nor a folder behind. */
export function stopRuns() {
  for (const child of children) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}

/** What is missing, or null. */
export function checkTools() {
  const there = (program, arg) => spawnSync(program, [arg], { stdio: 'ignore' }).error === undefined;
  if (!there('spin', '-V'))
    return 'spin is missing: install the Debian package "spin" (apt-get install spin).';
  if (!there('cc', '--version'))
    return 'A C compiler (cc) is missing: install the Debian package "gcc" (apt-get install gcc).';
  return null;
}

/** Checks one configuration. The verdict: holds, violated, or incomplete where the search says nothing. */
export async function runModel(run) {
  const folder = mkdtempSync(path.join(tmpdir(), 'a2a-cluster-model-'));
  folders.add(folder);
  try {
    cpSync(path.join(root, 'test/model'), folder, { recursive: true });
    return await check(folder, run);
  } finally {
    folders.delete(folder);
    rmSync(folder, { recursive: true, force: true });
  }
}

async function check(folder, run) {
  const { model, bounds, ltl, expected } = run;
  const defines = Object.entries(ltl ? { ...bounds, LIVE: 1 } : bounds).map(
    ([key, value]) => `-D${key}=${value}`,
  );
  const file = `${model}.pml`;
  const startedAt = performance.now();
  const seconds = () => (performance.now() - startedAt) / 1000;
  const none = { states: 0, trail: [] };
  const generated = await call(folder, 'spin', [...defines, '-a', file]);
  if (!existsSync(path.join(folder, 'pan.c')))
    return { ...none, seconds: seconds(), verdict: 'incomplete', problem: generated.trim() };
  // A violation that is expected is searched breadth first: its trail is the shortest. Everything else depth first.
  const shortest = ltl === undefined && expected === 'violated';
  const kind = ltl ? ['-DNFAIR=5'] : ['-DSAFETY', '-DNOCLAIM', ...(shortest ? ['-DBFS'] : [])];
  // Compiling takes longer than a short search.
  const small = expected === 'violated' || model === 'beat';
  const compiled = await call(folder, 'cc', [
    small ? '-O0' : '-O1',
    '-w',
    '-DCOLLAPSE',
    `-DMEMLIM=${MEMORY_MB}`,
    ...kind,
    '-o',
    'pan',
    'pan.c',
  ]);
  if (!existsSync(path.join(folder, 'pan')))
    return { ...none, seconds: seconds(), verdict: 'incomplete', problem: compiled.trim() };
  const search = ltl ? ['-a', '-f', '-N', ltl] : [];
  const output = await call(folder, './pan', ['-E', `-m${DEPTH}`, ...search]);
  const judged = judge(output);
  const trail = judged.verdict === 'violated' ? await trailOf(folder, { file, defines }) : [];
  return { ...judged, trail, seconds: seconds() };
}

/** A search counts only if nothing says that it left something out. */
function judge(output) {
  const errors = /errors: (\d+)/.exec(output);
  const states = Number(/([\d.e+]+) states, stored/.exec(output)?.[1] ?? 0);
  if (errors !== null && Number(errors[1]) > 0) return { verdict: 'violated', states };
  const problem = [
    [errors === null || states === 0, 'the search gave no result'],
    [/max search depth too small/.test(output), 'max search depth too small'],
    [/[Ss]earch not completed/.test(output), 'search not completed'],
    [/out of memory|reached -DMEMLIM|memory bound/.test(output), 'out of memory'],
    [/hash-?compact|[Bb]it ?state/.test(output), 'not an exhaustive search'],
    [/error:|VECTORSZ|too many processes/.test(output), 'Spin reports an error'],
  ].find(([wrong]) => wrong);
  if (problem)
    return { verdict: 'incomplete', states, problem: `${problem[1]}: ${output.trim().slice(0, 400)}` };
  return { verdict: 'holds', states };
}

/** Who did what, up to the violation. */
async function trailOf(folder, { file, defines }) {
  const text = await call(folder, 'spin', [...defines, '-T', '-k', `${file}.trail`, file]);
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) =>
      /^(replica \d|(database|network|time|canceller|sweeper|holder|other|opener):|VIOLATED|<<<)/.test(line),
    )
    .map((line) => line.replace(/kind (\d)/, (_, kind) => KINDS[Number(kind)] ?? kind));
  const end = lines.findIndex((line) => line.startsWith('VIOLATED'));
  return end < 0 ? lines : lines.slice(0, end + 1);
}

/** What a program printed, on both streams, whatever its exit code. */
function call(cwd, program, args) {
  return new Promise((resolve) => {
    const child = execFile(program, args, { cwd, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      children.delete(child);
      resolve(`${stdout}${stderr}${error?.code === 'ENOENT' ? error.message : ''}`);
    });
    children.add(child);
  });
}
