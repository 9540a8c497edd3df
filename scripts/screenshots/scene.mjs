import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import path from 'node:path';
import { availableProviders, createTestDatabase } from '../../packages/testing/dist/index.js';
import { root, say } from '../workspace.mjs';

const TRAFFIC_MS = Number(process.argv[2] ?? 180_000);
const users = {
  alice: 'token-of-alice-for-pictures=alice',
  bob: 'token-of-bob-for-pictures=bob',
  nightly: 'token-of-reports-for-pictures=reports-nightly',
};
const tokenOf = (user) => users[user].split('=')[0];
const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Three replicas with a past, one of them dead, and tasks of every sort. */
export async function startScene() {
  const provider = availableProviders().includes('postgresql') ? 'postgresql' : 'sqlite';
  const database = await createTestDatabase({ provider });
  const hooks = await startHooks();
  const children = [];
  const replica = (name, env = {}) => startReplica({ name, env, url: database.url, children });
  const names = ['x2x9q', 'k7m4d', 'p9w2z'].map((tail) => `agents-5f7d9c8b6-${tail}`);
  const [first, second, third] = await Promise.all(names.map((name) => replica(name)));
  const tasks = await drawScene({ first, second, third, hooks });
  return {
    base: first.base,
    tasks,
    /** Starts a replica that wants a token; its address. */
    async lock() {
      return (await replica('agents-5f7d9c8b6-t4v8c', { OPERATOR_TOKEN: randomUUID() })).base;
    },
    async end() {
      for (const child of children) child.kill('SIGKILL');
      await Promise.all(children.map((child) => child.exitCode ?? child.signalCode ?? once(child, 'exit')));
      hooks.server.closeAllConnections();
      hooks.server.close();
      await database.drop();
    },
  };
}

async function drawScene({ first, second, third, hooks }) {
  const push = (url) => ({ taskPushNotificationConfig: { url } });
  await traffic([first, second, third], hooks);
  const pushed = await send(second, {
    user: 'alice',
    text: 'chunk 6 400 20; done The report is complete.',
    configuration: push(`${hooks.url}/gone`),
  });
  const lost = await send(second, {
    user: 'alice',
    text: `chunk 7 300 60; ask Which account shall I book it on?`,
  });
  void send(third, { user: 'alice', taskId: lost, text: 'tick 600 900' });
  for (let turn = 0; turn < 4; turn += 1) void send(third, { user: 'bob', text: 'tick 600 1500' });
  const running = await started(first, { user: 'nightly', text: 'tick 300 2000' });
  for (let turn = 0; turn < 5; turn += 1) void send(second, { user: 'nightly', text: 'tick 400 1000' });
  await rest(4_000);
  third.child.kill('SIGKILL');
  say('A replica was killed; its turns are swept soon.');
  await until(
    async () =>
      (await (await fetch(`${first.base}/console/api/tasks/${lost}`)).json()).task.state ===
      'TASK_STATE_FAILED',
  );
  await rest(6_000);
  return { push: pushed, lost, running };
}

/** Turns of all sorts, now more and now fewer. */
async function traffic(replicas, hooks) {
  const scripts = [
    'tick 5 300; done Booked on travel.',
    'chunk 10 200 100; done The summary is attached.',
    'tick 3 500; ask Which account shall I book it on?',
    'tick 2 200; fail The ledger does not answer',
    'reject This is no invoice.',
    'sleep 2500; done Nothing to do.',
  ];
  const began = performance.now();
  say(`Turns run for ${Math.round(TRAFFIC_MS / 1_000)} s.`);
  for (let turn = 0; performance.now() - began < TRAFFIC_MS; turn += 1) {
    const user = Object.keys(users)[turn % 3];
    const text = scripts[(turn * 7) % scripts.length];
    const url = turn % 12 === 5 ? `${hooks.url}/slow` : `${hooks.url}/fine`;
    const configuration = turn % 4 === 1 ? { taskPushNotificationConfig: { url } } : undefined;
    void send(replicas[turn % 3], { user, text, configuration });
    const phase = (performance.now() - began) / TRAFFIC_MS;
    await rest(700 - 450 * Math.sin(phase * Math.PI * 1.5) ** 2);
  }
}

async function send(replica, say) {
  // The replica that is killed answers nothing.
  const answer = await call(replica, 'SendMessage', say).catch(() => null);
  return (await answer?.json())?.result?.task?.id ?? '';
}

/** The id of a task whose turn goes on. */
async function started(replica, say) {
  const answer = await call(replica, 'SendStreamingMessage', say);
  let text = '';
  for await (const chunk of answer.body) {
    text += Buffer.from(chunk).toString();
    const [, id] = /"task":\{"id":"([^"]+)"/.exec(text) ?? [];
    if (id !== undefined) return id;
  }
  throw new Error(`no task began: ${text}`);
}

function call(replica, method, { user, text, taskId, configuration }) {
  const message = {
    messageId: randomUUID(),
    role: 'ROLE_USER',
    parts: [{ text }],
    ...(taskId ? { taskId } : {}),
  };
  return fetch(`${replica.base}/a2a/jsonrpc`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'a2a-version': '1.0',
      authorization: `Bearer ${tokenOf(user)}`,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { message, configuration } }),
  });
}

function startReplica({ name, env, url, children }) {
  const child = spawn(process.execPath, [path.join(root, 'apps/clustermode/bin/clustermode.js'), 'serve'], {
    env: {
      ...{ PATH: process.env.PATH, DATABASE_URL: url, PORT: '0', REPLICA_ID: name },
      ...{ LEASE_TTL_MS: '8000', LEASE_HEARTBEAT_MS: '1000', SWEEP_INTERVAL_MS: '2000' },
      ...{ AUTH_TOKENS: Object.values(users).join(','), PUSH_ALLOW_PRIVATE: 'true' },
      ...env,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  let out = '';
  return new Promise((resolve, reject) => {
    child.once('exit', () => reject(new Error(`${name} ended before it listened:\n${out}`)));
    child.stdout.on('data', (chunk) => {
      out += chunk;
      const [, port] = /"port":(\d+),[^\n]*"msg":"listening"/.exec(out) ?? [];
      if (port !== undefined) resolve({ child, base: `http://127.0.0.1:${port}` });
    });
  });
}

/** Webhooks: one takes everything, one wants no event, one is out of order. */
async function startHooks() {
  const statuses = { '/fine': 200, '/gone': 404, '/slow': 503 };
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(statuses[request.url] ?? 404).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, url: `http://127.0.0.1:${server.address().port}` };
}

async function until(ask) {
  while (!(await ask())) await rest(250);
}
