import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { TaskState } from '@a2a-js/sdk';
import { availableProviders, createTestDatabase, type TestDatabase } from '@a2a-cluster/testing';
import { startCluster, type TestCluster } from './support/cluster-of.js';
import { statusEvent, taskEvent } from './support/events.js';
import { violations } from './support/invariants.js';
import { Recording, stateOf, textOf } from './support/recording.js';
import { agent, startInProcess } from './support/replica-in-process.js';
import { TTL_MS } from './support/replica-process.js';
import { Rows } from './support/rows.js';

describe.each(availableProviders())('a replica that is told to end, on %s', (provider) => {
  let cluster: TestCluster;
  let rows: Rows;

  beforeAll(async () => {
    cluster = await startCluster({ provider, count: 1, env: { DRAIN_TIMEOUT_MS: '1500' } });
    rows = await Rows.open(cluster.database.url);
  });
  afterAll(async () => {
    expect(await violations(cluster.database.url)).toEqual([]);
    await rows.close();
    await cluster.end();
  });

  test('lets a short turn finish, refuses new ones, and still reads', async () => {
    const closing = await cluster.add({ name: 'short', env: { DRAIN_TIMEOUT_MS: '15000' } });
    const caller = new Recording(closing.client.stream({ text: 'sleep 3000; done in time' }));
    const taskId = await caller.taskId();
    closing.kill('SIGTERM');
    await closing.log((line) => line.msg === 'draining');
    const refused = await closing.client.send({ text: 'done' });
    expect(refused.error).toMatchObject({
      code: -32603,
      data: [{ metadata: { reason: 'REPLICA_DRAINING' } }],
    });
    const overRest = await fetch(`${closing.base}/a2a/rest/message:send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: JSON.stringify({ message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'done' }] } }),
    });
    expect(overRest.status).toBe(503);
    expect(Number(overRest.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await fetch(`${closing.base}/readyz`)).status).toBe(503);
    expect((await fetch(`${closing.base}/livez`)).status).toBe(200);
    expect((await closing.client.get(taskId)).result?.status.state).toBe('TASK_STATE_SUBMITTED');
    await caller.find((event) => stateOf(event) === 'TASK_STATE_COMPLETED');
    expect(await closing.exited).toBe(0);
  });

  test('ends a long turn FAILED with reason shutdown, told before the stream ends; a parked task is left alone', async () => {
    const closing = await cluster.add({ name: 'long' });
    const survivor = cluster.replicas.find((replica) => replica.name === 'a')!;
    const asked = await closing.client.send({ text: 'ask more' });
    const lingering = new Recording(closing.client.stream({ text: 'ask more; linger 60000' }));
    const lingeringId = await lingering.taskId();
    await lingering.ended;
    const parkedBefore = await rows.events(asked.result!.task!.id);
    const caller = new Recording(closing.client.stream({ text: 'deaf 60000' }));
    const taskId = await caller.taskId();
    const watcher = new Recording(survivor.client.subscribe(taskId));
    await watcher.taskId();
    closing.kill('SIGTERM');
    for (const recording of [caller, watcher]) {
      const failed = await recording.find((event) => stateOf(event) === 'TASK_STATE_FAILED');
      expect(failed.statusUpdate?.metadata?.['a2a-cluster']?.reason).toBe('shutdown');
      expect(await recording.ended).toBeNull();
    }
    expect(await closing.exited).toBe(0);
    expect(await rows.events(asked.result!.task!.id)).toEqual(parkedBefore);
    expect((await rows.task(lingeringId))?.state).toBe('TASK_STATE_INPUT_REQUIRED');
    expect(await rows.lease(lingeringId)).toBeUndefined();
    const answered = await survivor.client.send({ text: 'done', taskId: lingeringId });
    expect(answered.result?.task?.status.state).toBe('TASK_STATE_COMPLETED');
  });

  test('ends at once when it is told a second time', async () => {
    const closing = await cluster.add({ name: 'twice' });
    const caller = new Recording(closing.client.stream({ text: 'deaf 60000' }));
    const taskId = await caller.taskId();
    closing.kill('SIGTERM');
    await closing.log((line) => line.msg === 'draining');
    closing.kill('SIGTERM');
    await closing.exited;
    await caller.ended;
    const survivor = cluster.replicas.find((replica) => replica.name === 'a')!;
    const after = await survivor.client.get(taskId);
    if (after.result?.status.state === 'TASK_STATE_FAILED') return;
    const watcher = new Recording(survivor.client.subscribe(taskId));
    await watcher.find((event) => stateOf(event) === 'TASK_STATE_FAILED');
  });
});

describe.each(availableProviders())('close without failing its turns, on %s', (provider) => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase({ provider });
  });
  afterAll(() => database.drop());

  test('leaves them to the sweeper of another replica', async () => {
    const executor = agent((context, bus) => {
      bus.publish(taskEvent(context));
      bus.publish(statusEvent(context, TaskState.TASK_STATE_WORKING, 'working'));
      return new Promise(() => {});
    });
    const leaving = await startInProcess({
      databaseUrl: database.url,
      executor,
      failRunningTurnsOnClose: false,
    });
    const staying = await startInProcess({ databaseUrl: database.url, executor });
    const caller = new Recording(leaving.client.stream({ text: 'go' }));
    const taskId = await caller.taskId();
    await caller.find((event) => textOf(event) === 'working');
    const watcher = new Recording(staying.client.subscribe(taskId));
    await watcher.taskId();
    const closedAt = performance.now();
    await leaving.close();
    const failed = await watcher.find((event) => stateOf(event) === 'TASK_STATE_FAILED');
    expect(failed.statusUpdate?.metadata?.['a2a-cluster']?.reason).toBe('replica_lost');
    expect(performance.now() - closedAt).toBeLessThan(TTL_MS + 1_000);
    await staying.close();
    expect(await violations(database.url)).toEqual([]);
  });
});
