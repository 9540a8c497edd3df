import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { createSilentLogger } from '@a2a-cluster/core';
import type { Cluster } from '@a2a-cluster/cluster';
import { availableProviders, createTestDatabase, type TestDatabase } from '@a2a-cluster/testing';
import { createDemoAgent } from '../src/agent/demo-agent.js';
import { createApp } from '../src/app.js';
import { createAuthentication } from '../src/auth.js';
import { composeCluster } from '../src/compose.js';
import { loadConfig, type Config } from '../src/config.js';
import { listen, type HttpServer } from '../src/http-server.js';
import { connectTo, textMessage } from '../src/scenario/replica-client.js';
import { runExercise } from '../src/scenario/exercise.js';
import { watch } from '../src/scenario/watcher.js';
import { rpc, userMessage, v1 } from './fixture.js';

/** A replica of this app, in this process. */
interface Replica {
  readonly cluster: Cluster;
  readonly server: HttpServer;
  readonly url: string;
}

describe.each(availableProviders())('replicas of the app on %s', (provider) => {
  let database: TestDatabase;
  const replicas: Replica[] = [];

  beforeAll(async () => {
    database = await createTestDatabase({ provider });
    for (const name of ['r1', 'r2', 'r3']) replicas.push(await startReplica(database, name));
  });

  afterAll(async () => {
    await Promise.all(replicas.map(stopReplica));
    await database.drop();
  });

  test('share the tasks: start, watch, cancel, ask and answer each on another one', async () => {
    const said: string[] = [];
    const urls = replicas.map(({ url }) => url);
    const result = await runExercise({
      urls,
      report: (step) => void said.push(`${step.name}: ${step.detail}`),
    });
    expect({ ok: result.ok, said }).toEqual({ ok: true, said: expect.any(Array) });
    expect(result.steps).toHaveLength(9);
  });

  test('store nothing of what is refused', async () => {
    const { url, cluster } = replicas[0] as Replica;
    const before = (await cluster.operator.tasks.find({ limit: 200 })).tasks.length;
    const bad = [
      rpc('SendMessage', { message: userMessage('done', { parts: [] }) }),
      rpc('SendMessage', { message: userMessage('done', { role: 'ROLE_KING' }) }),
      rpc('SendMessage', { message: userMessage('done', { taskId: 'a\u0000b' }) }),
      rpc('SendMessage', { message: userMessage('done', { taskId: '\ud800' }) }),
      rpc('SendMessage', { message: userMessage('done', { contextId: 'c ' }) }),
      rpc('ListTasks', { pageToken: 'nonsense \u0000' }),
      rpc('GetTask', { id: 'x'.repeat(10_000) }),
    ];
    for (const body of bad) {
      const { error } = (await request(url).post('/a2a/jsonrpc').set(v1).send(body)).body;
      expect({ code: error?.code, body }).toEqual({ code: expect.any(Number), body });
      expect(error.code).not.toBe(-32603);
    }
    expect((await cluster.operator.tasks.find({ limit: 200 })).tasks).toHaveLength(before);
  });

  test('free a subscriber at once when its client goes away', async () => {
    const { url, cluster } = replicas[1] as Replica;
    const { client } = await connectTo({ url: (replicas[0] as Replica).url });
    const task = watch(client.sendMessageStream(textMessage('tick 100000 20')));
    const { taskId } = await task.first((sight) => sight.taskId !== '');
    const gone = new AbortController();
    const other = await connectTo({ url });
    const subscriber = watch(
      other.client.resubscribeTask({ id: taskId, tenant: '' }, { signal: gone.signal }),
    );
    await subscriber.first((sight) => sight.text.startsWith('tick'));
    expect(cluster.status().stream.tails).toBe(1);
    gone.abort();
    await until(() => cluster.status().stream.tails === 0);
    await client.cancelTask({ id: taskId, tenant: '', metadata: undefined });
  });
});

describe('a replica that drains', () => {
  test('answers reads, refuses turns with 503, and ends what does not end itself', async () => {
    const database = await createTestDatabase({ provider: 'sqlite' });
    const replica = await startReplica(database, 'r1');
    const { url, cluster } = replica;
    const { client } = await connectTo({ url });
    const stream = watch(client.sendMessageStream(textMessage('tick 100000 20')));
    const { taskId } = await stream.first((sight) => sight.state === 'TASK_STATE_WORKING');
    const closed = cluster.close({ drainTimeoutMs: 1_000 });

    const readyz = await request(url).get('/readyz');
    expect([readyz.status, readyz.body.reasons]).toEqual([503, ['draining']]);
    expect((await request(url).get('/livez')).status).toBe(200);
    const send = { message: userMessage('done') };
    const refused = await request(url).post('/a2a/rest/message:send').set(v1).send(send);
    expect([refused.status, refused.body.error.details[0].metadata.reason]).toEqual([
      503,
      'REPLICA_DRAINING',
    ]);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    const legacy = { message: { messageId: 'm', role: 'ROLE_USER', content: [{ text: 'done' }] } };
    expect((await request(url).post('/a2a/rest/v1/message:send').send(legacy)).status).toBe(503);
    expect((await request(url).get(`/a2a/rest/tasks/${taskId}`).set(v1)).body.status.state).toBe(
      'TASK_STATE_WORKING',
    );

    const last = await stream.first((sight) => sight.state === 'TASK_STATE_FAILED');
    expect(last.metadata).toMatchObject({ 'a2a-cluster': { reason: 'shutdown' } });
    await closed;
    await replica.server.close();
    await database.drop();
  });
});

describe('a server that has no app yet', () => {
  test('is alive, not ready, and answers everything else with 503', async () => {
    const server = await listen({ host: '127.0.0.1', port: 0 });
    const url = `http://127.0.0.1:${server.port}`;
    expect((await request(url).get('/livez')).body.alive).toBe(true);
    expect((await request(url).get('/readyz')).body).toMatchObject({ ready: false, reasons: ['starting'] });
    expect((await request(url).post('/a2a/jsonrpc').send({})).body.error.code).toBe(-32603);
    const rest = await request(url).get('/a2a/rest/tasks').set(v1);
    expect([rest.status, rest.body.error.status]).toEqual([503, 'UNAVAILABLE']);
    await server.close();
  });

  test('says so when its port is taken', async () => {
    const server = await listen({ host: '127.0.0.1', port: 0 });
    const second = listen({ host: '127.0.0.1', port: server.port });
    await expect(second).rejects.toThrow(`127.0.0.1 port ${server.port} (HOST, PORT): the port is in use`);
    await server.close();
  });
});

async function startReplica(database: TestDatabase, name: string): Promise<Replica> {
  const config = configFor({ DATABASE_URL: database.url, REPLICA_ID: name, PORT: '0' });
  const server = await listen({ host: config.host, port: 0 });
  const logger = createSilentLogger();
  const agent = { executor: createDemoAgent() };
  const cluster = await composeCluster({ config, agent, logger, port: server.port });
  server.serve(
    createApp({
      requestHandler: cluster.requestHandler,
      authentication: createAuthentication({}),
      bodyLimits: config.limits.body,
      health: () => ({ ...cluster.status() }),
      logger,
      streaming: cluster.streaming(),
    }),
  );
  await cluster.start();
  return { cluster, server, url: `http://127.0.0.1:${server.port}` };
}

async function stopReplica({ cluster, server }: Replica): Promise<void> {
  await cluster.close({ drainTimeoutMs: 1 });
  await server.close();
}

function configFor(env: Record<string, string>): Config {
  const result = loadConfig({ env });
  if (result.problems !== undefined) throw new Error(result.problems.join('\n'));
  return result.config;
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10));
}
