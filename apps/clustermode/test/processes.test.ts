import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '@a2a-cluster/testing';
import { connectTo, textMessage } from '../src/scenario/replica-client.js';
import { watch } from '../src/scenario/watcher.js';
import { freePorts, killAll, listening, needBuild, starter } from './command.js';

let database: TestDatabase;
let folder: string;
const start = starter(() => ({ folder, databaseUrl: database.url }));

beforeAll(async () => {
  needBuild();
  database = await createTestDatabase({ provider: 'sqlite' });
  folder = await mkdtemp(path.join(tmpdir(), 'clustermode-test-'));
});

afterEach(killAll);

afterAll(async () => {
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

describe('serve does not start', () => {
  test('with wrong settings, and names them all', async () => {
    const run = start(['serve', '--port', 'x'], { HINTS: 'shout', AUTH_TOKENS: 'secret' });
    expect(await run.ended).toBe(78);
    for (const name of ['PORT', 'HINTS', 'AUTH_TOKENS'])
      expect(run.err()).toMatch(new RegExp(`^ *${name} `, 'm'));
    expect(run.err()).not.toMatch(/secret/);
    expect(run.out()).toBe('');
  });

  test('with times that do not add up, and names the variables', async () => {
    const run = start(['serve'], { LEASE_TTL_MS: '3000', LEASE_HEARTBEAT_MS: '2900' });
    expect(await run.ended).toBe(78);
    expect(run.err()).toMatch(/LEASE_TTL_MS.*3000.*LEASE_HEARTBEAT_MS.*2900/);
  });

  test('on a database that is behind', async () => {
    const behind = await createTestDatabase({ provider: 'sqlite', upTo: 2 });
    const run = start(['serve'], { DATABASE_URL: behind.url });
    expect(await run.ended).toBe(78);
    expect(run.err()).toMatch(/migrat/i);
    await behind.drop();
  });

  test('without its database', async () => {
    const run = start(['serve'], { DATABASE_URL: `file:${path.join(folder, 'nowhere', 'x.db')}` });
    expect(await run.ended).not.toBe(0);
    expect(run.err()).toMatch(/nowhere/);
    expect(run.err()).not.toMatch(/\n\s+at /);
  });

  test.each([
    ['is not there', 'gone.mjs', undefined],
    ['throws', 'throws.mjs', 'throw new Error("no luck today")'],
    ['exports no agent', 'empty.mjs', 'export default { execute: 5 }'],
  ])('with an agent module that %s', async (_what, name, source) => {
    const file = path.join(folder, name);
    if (source !== undefined) await writeFile(file, source);
    const run = start(['serve'], { AGENT_MODULE: file });
    expect(await run.ended).toBe(78);
    expect(run.err()).toContain(`AGENT_MODULE ${file}`);
  });

  test('on a port that is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as AddressInfo;
    const run = start(['serve'], { PORT: String(port) });
    expect(await run.ended).toBe(1);
    expect(run.err()).toMatch(/the port is in use/);
    other.close();
  });
});

describe('serve', () => {
  test('drains and ends when nobody reads its log any more', async () => {
    const run = start(['serve'], {});
    await listening(run);
    run.child.stdout?.destroy();
    run.child.kill('SIGTERM');
    expect(await run.ended).toBe(0);
  });

  test('migrates when it is told to, runs the agent of a module, and prints JSON lines only', async () => {
    const empty = await createTestDatabase({ provider: 'sqlite', exists: false });
    const file = path.join(folder, 'agent.mjs');
    await writeFile(file, AGENT);
    const run = start(['serve', '--migrate', '--agent-module', file], { DATABASE_URL: empty.url });
    const url = await listening(run);
    const card = await fetch(`${url}/.well-known/agent-card.json`, { headers: { 'A2A-Version': '1.0' } });
    expect(await card.json()).toMatchObject({ name: 'Echo' });
    const { client } = await connectTo({ url });
    expect(await client.sendMessage(textMessage('hello'))).toMatchObject({
      parts: [{ content: { value: 'hello' } }],
    });
    await client.getTask({ id: 'nope', tenant: '', historyLength: undefined }).catch(() => {});
    run.child.kill('SIGTERM');
    expect(await run.ended).toBe(0);
    for (const line of run.out().trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('msg');
    expect(run.err()).toBe('');
    await empty.drop();
  });

  test('drains at the first signal and ends at once at a second one', async () => {
    const run = start(['serve']);
    const url = await listening(run);
    const { client, readyz } = await connectTo({ url });
    const stream = watch(client.sendMessageStream(textMessage('tick 100000 20')));
    const { taskId } = await stream.first((sight) => sight.state === 'TASK_STATE_WORKING');
    run.child.kill('SIGTERM');
    await run.said(/"msg":"draining"/);
    expect(await readyz()).toMatchObject({ ready: false, reasons: ['draining'] });
    expect(await client.getTask({ id: taskId, tenant: '', historyLength: 0 })).toMatchObject({ id: taskId });
    run.child.kill('SIGTERM');
    expect(await run.ended).toBe(143);
  });

  test('ends its turns within the drain time and exits 0', async () => {
    const run = start(['serve', '--drain-timeout-ms', '300']);
    const { client } = await connectTo({ url: await listening(run) });
    const stream = watch(client.sendMessageStream(textMessage('tick 100000 20')));
    await stream.first((sight) => sight.state === 'TASK_STATE_WORKING');
    run.child.kill('SIGINT');
    const { metadata } = await stream.first((sight) => sight.state === 'TASK_STATE_FAILED');
    expect(metadata).toMatchObject({ 'a2a-cluster': { reason: 'shutdown' } });
    expect(await run.ended).toBe(0);
  });
});

describe('up', () => {
  test('runs replicas, starts none again, and drains the others at a signal', async () => {
    const run = start(['up', '--replicas', '2', '--base-port', String(await freePorts())]);
    const [, pid] = await run.said(/replica-1 is process (\d+)/);
    await run.said(/\[replica-1\] .*"msg":"listening"/);
    await run.said(/\[replica-2\] .*"msg":"listening"/);
    process.kill(Number(pid), 'SIGKILL');
    await run.said(/replica-1 ended by SIGKILL; the others go on/);
    run.child.kill('SIGINT');
    await run.said(/replica-2 ended with code 0/);
    expect(await run.ended).toBe(1);
  });

  test('says when the database is behind and starts nothing', async () => {
    const behind = await createTestDatabase({ provider: 'sqlite', migrated: false });
    const run = start(['up'], { DATABASE_URL: behind.url });
    expect(await run.ended).not.toBe(0);
    expect(run.err()).toMatch(/migrat/i);
    expect(run.out()).toBe('');
    await behind.drop();
  });
});

describe('the commands of an operator', () => {
  test('show leases, replicas and tasks, and release the lease of a dead replica', async () => {
    const own = await createTestDatabase({ provider: 'sqlite' });
    const env = { DATABASE_URL: own.url };
    const replica = start(['serve', '--replica-id', 'r7'], { ...env, LEASE_TTL_MS: '600000' });
    const { client } = await connectTo({ url: await listening(replica) });
    const stream = watch(client.sendMessageStream(textMessage('sleep 600000')));
    const { taskId } = await stream.first((sight) => sight.taskId !== '');
    replica.child.kill('SIGKILL');
    await replica.ended;

    const rows = async (...words: string[]): Promise<unknown> => {
      const run = start([...words, '--json'], env);
      await run.ended;
      return JSON.parse(run.out());
    };
    expect(await rows('leases')).toMatchObject([{ taskId, holder: expect.stringMatching(/^r7-/), epoch: 1 }]);
    expect(await rows('replicas')).toMatchObject([
      { replicaId: expect.stringMatching(/^r7-/), phase: 'running', pid: replica.child.pid },
    ]);
    expect(await rows('leases', 'release', taskId)).toEqual({ taskId, outcome: 'failed' });
    expect(await rows('tasks')).toMatchObject([{ taskId, state: 'TASK_STATE_FAILED' }]);
    const table = start(['leases'], env);
    expect(await table.ended).toBe(0);
    expect(table.out()).toBe('No turn is running.\n');
    const again = start(['leases', 'release', taskId], env);
    expect(await again.ended).toBe(1);
    await own.drop();
  });
});

const AGENT = `
export const agentCard = { name: 'Echo', description: 'Says it again.' };
export default () => ({
  async execute({ userMessage, contextId }, bus) {
    console.log('an agent that prints');
    bus.publish({ kind: 'message', data: { ...userMessage, messageId: 'a', role: 2, contextId } });
  },
  async cancelTask() {},
});
`;
