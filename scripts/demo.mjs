// `npm run demo`: three replicas on one database, a task on one of them, and kill -9 for that one.
// `-- --json` prints one JSON object on standard output and nothing else. DATABASE_URL picks another database.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { root, say } from './workspace.mjs';

const TTL_MS = 3_000;
const program = path.join(root, 'apps/clustermode/bin/clustermode.js');
const json = process.argv.includes('--json');

const { deployMigrations } = await import(path.join(root, 'packages/db/dist/index.js'));
const { runCrash } = await import(path.join(root, 'apps/clustermode/dist/scenario/crash.js'));
const { stepLine } = await import(path.join(root, 'apps/clustermode/dist/scenario/steps.js'));

const folder = mkdtempSync(path.join(tmpdir(), 'a2a-cluster-demo-'));
const databaseUrl = process.env.DATABASE_URL || `file:${path.join(folder, 'demo.db')}`;
const replicas = [];
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void finish(1));
let result = { ok: false, steps: [], detectedAfterMs: null, ttlMs: TTL_MS };
try {
  say('Migrating the database ...');
  await deployMigrations({ databaseUrl, environment: process.env });
  say('Starting three replicas ...');
  const urls = await Promise.all(['replica-1', 'replica-2', 'replica-3'].map(startReplica));
  if (!json)
    print('', `Three replicas, one ${databaseUrl.split(':')[0]} database, leases of ${TTL_MS} ms.`, '');
  result = await runCrash({ urls, ttlMs: TTL_MS, report: (step) => json || print(stepLine(step)) });
} catch (error) {
  say(`The demo could not run: ${error.message}`);
}
if (json) print(JSON.stringify(result));
else print('', verdict());
await finish(result.ok ? 0 : 1);

function print(...lines) {
  process.stdout.write(`${lines.join('\n')}\n`);
}

function verdict() {
  if (!result.ok) return 'It did not go as expected; the step that failed says what was seen.';
  return `The task died with its replica and was ended ${result.detectedAfterMs} ms later, once, for everybody.`;
}

/** Resolves with the address once the replica listens; its log is kept to be shown if it never does. */
function startReplica(name) {
  const env = {
    ...process.env,
    DATABASE_URL: databaseUrl,
    REPLICA_ID: name,
    HOST: '127.0.0.1',
    PORT: '0',
    LEASE_TTL_MS: String(TTL_MS),
    LEASE_HEARTBEAT_MS: '600',
    SWEEP_INTERVAL_MS: '1000',
    LOG_LEVEL: 'info',
    GRPC_PORT: '',
    AGENT_MODULE: '',
    AUTH_TOKENS: '',
    PUBLIC_URL: '',
  };
  const child = spawn(process.execPath, [program, 'serve'], {
    env,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  replicas.push(child);
  return new Promise((resolve, reject) => {
    let said = '';
    const read = (chunk) => {
      said = (said + chunk).slice(-20_000);
      const port = /"port":(\d+),[^\n]*"msg":"listening"/.exec(said)?.[1];
      if (port) resolve(`http://127.0.0.1:${port}`);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('error', reject);
    child.once('exit', () => reject(new Error(`${name} did not start:\n${said}`)));
  });
}

async function finish(code) {
  const running = replicas.filter((child) => child.exitCode === null && child.signalCode === null);
  const ended = running.map((child) => new Promise((resolve) => child.once('exit', resolve)));
  for (const child of running) child.kill('SIGTERM');
  const late = setTimeout(() => running.forEach((child) => child.kill('SIGKILL')), 10_000);
  await Promise.all(ended);
  clearTimeout(late);
  rmSync(folder, { recursive: true, force: true });
  process.exit(code);
}
