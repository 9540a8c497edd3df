// Brings a fresh checkout to where the commands can run. Everything it says goes to standard error.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of the repository. */
export const root = fileURLToPath(new URL('..', import.meta.url));

const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
const modules = path.join(root, 'node_modules');
const installStamp = path.join(modules, '.install-stamp');
const buildStamp = path.join(modules, '.build-stamp');

/** Says on standard error how far things are. */
export function say(text) {
  process.stderr.write(`${text}\n`);
}

/** Runs a program to its end; the exit code. What it prints goes to standard error unless `stdout` is `inherit`. */
export function run(command, args, { env = {}, stdout = process.stderr.fd, cwd = root } = {}) {
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', stdout, 'inherit'],
  });
  const hand = (signal) => child.kill(signal);
  process.on('SIGINT', hand).on('SIGTERM', hand);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      process.off('SIGINT', hand).off('SIGTERM', hand);
      resolve(signal === null ? code : 1);
    });
  });
}

/** Runs a step of the set-up, or ends the process with what went wrong. */
async function must(what, ...program) {
  const code = await run(...program).catch((error) => error.message);
  if (code === 0) return;
  say(`${what} failed (${code}).`);
  process.exit(1);
}

function checkNode() {
  const [, wantMajor, wantMinor] = /(\d+)\.(\d+)/.exec(manifest.engines.node);
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > Number(wantMajor) || (major === Number(wantMajor) && minor >= Number(wantMinor))) return;
  say(`This needs Node ${wantMajor}.${wantMinor} or later; this is ${process.version}.`);
  process.exit(1);
}

const npx = process.platform === 'win32' ? 'npx.cmd' : 'npx';
const quiet = { npm_config_loglevel: 'error', npm_config_update_notifier: 'false' };

function installFingerprint() {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch} ${process.versions.modules}`);
  for (const file of ['pnpm-lock.yaml', 'pnpm-workspace.yaml'])
    hash.update(readFileSync(path.join(root, file)));
  return hash.digest('hex');
}

/** Whether a file holds exactly this text. */
function holds(file, text) {
  return existsSync(file) && readFileSync(file, 'utf8') === text;
}

async function install() {
  if (holds(installStamp, installFingerprint())) return;
  say('Installing dependencies ...');
  const args = ['--yes', manifest.packageManager, 'install', '--frozen-lockfile'];
  await must('Installing the dependencies', npx, args, { env: { ...quiet, CI: 'true' } });
  writeFileSync(installStamp, installFingerprint());
}

async function generate() {
  await must('Generating the database clients', process.execPath, ['scripts/generate.mjs']);
}

/** Every file a build reads: the sources and configurations of all packages. */
function buildInputs() {
  const inFolders = ['packages', 'apps'].flatMap((parent) =>
    readdirSync(path.join(root, parent)).map((name) => path.join(parent, name)),
  );
  const packages = [...inFolders, 'test/faults', 'bench'];
  const sources = packages.flatMap((folder) => {
    const src = path.join(root, folder, 'src');
    if (!existsSync(src)) return [];
    const files = readdirSync(src, { recursive: true }).map((name) => path.join(folder, 'src', name));
    const beside = ['package.json', 'tsconfig.json', 'vite.config.ts', 'index.html']
      .map((name) => path.join(folder, name))
      .filter((file) => existsSync(path.join(root, file)));
    return [...beside, ...files];
  });
  const files = ['tsconfig.base.json', 'pnpm-lock.yaml', ...sources];
  return { packages, files: files.filter((file) => statSync(path.join(root, file)).isFile()).sort() };
}

function buildFingerprint({ files }) {
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${file}\0`).update(readFileSync(path.join(root, file)));
  return hash.digest('hex');
}

/** Builds all packages, in the order of their dependencies, unless what is there was built from these sources. */
async function build() {
  const inputs = buildInputs();
  const built = inputs.packages.every((folder) => existsSync(path.join(root, folder, 'dist')));
  const fingerprint = buildFingerprint(inputs);
  if (built && holds(buildStamp, fingerprint)) return;
  say('Building ...');
  await turbo('build');
  writeFileSync(buildStamp, fingerprint);
}

/** Runs a task of turbo in all packages. Turbo calls pnpm, which npx puts on its path. */
export async function turbo(task) {
  const command = `node_modules/.bin/turbo run ${task} --output-logs=errors-only`;
  const env = { ...quiet, TURBO_TELEMETRY_DISABLED: '1', TURBO_NO_UPDATE_NOTIFIER: '1' };
  await must(`The task ${task}`, npx, ['--yes', '--package', manifest.packageManager, '-c', command], {
    env,
  });
}

/** Does whatever is missing, and nothing twice. Ends the process when something fails. */
export async function prepare({ withBuild = true } = {}) {
  checkNode();
  await install();
  await generate();
  if (withBuild) await build();
}
