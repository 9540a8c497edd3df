import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { TaskState } from '@a2a-js/sdk';
import { createSilentLogger, createSystemClock } from '@a2a-cluster/core';
import { createDatabase, type Database } from '@a2a-cluster/db';
import { createClockWatch, resolveLeaseOptions } from '@a2a-cluster/lease-store';
import { createAbandonedTaskSweeper } from '@a2a-cluster/sweeper';
import { createJournal } from '@a2a-cluster/task-store';
import { availableProviders, createTestDatabase, openRaw, type TestDatabase } from '@a2a-cluster/testing';
import { startCluster, type TestCluster } from './support/cluster-of.js';
import { violations } from './support/invariants.js';
import { Recording, stateOf } from './support/recording.js';
import { TTL_MS } from './support/replica-process.js';
import { Rows } from './support/rows.js';
import { DEAD, seedTask } from './support/seeds.js';
import { waitUntil } from './support/wait-until.js';

const LEASES = 1_000;
const SWEEPERS = 10;

describe.each(availableProviders())('ten sweepers and a thousand expired leases, on %s', (provider) => {
  let testDatabase: TestDatabase;
  const databases: Database[] = [];

  beforeAll(async () => {
    testDatabase = await createTestDatabase({ provider });
    for (let index = 0; index < SWEEPERS; index++) {
      databases.push(await createDatabase({ url: testDatabase.url, ttlMs: TTL_MS, poolSize: 2 }));
    }
  });
  afterAll(async () => {
    for (const database of databases) await database.close();
    await testDatabase.drop();
  });

  test('end every turn once: a thousand FAILED events, and each told by one sweeper', async () => {
    const ids: string[] = [];
    for (let index = 0; index < LEASES; index += 20) {
      const seeds = Array.from({ length: 20 }, () =>
        seedTask(databases[0]!, { state: TaskState.TASK_STATE_SUBMITTED, ttlMs: 1 }),
      );
      ids.push(...(await Promise.all(seeds)));
    }
    const told: string[] = [];
    const sweepers = databases.map((database) => sweeperOver(database, (taskId) => told.push(taskId)));
    for (;;) {
      const results = await Promise.all(sweepers.map((sweeper) => sweeper.runOnce()));
      if (results.every((result) => result.failed === 0 && result.skipped === 0)) break;
    }
    expect(told.toSorted()).toEqual(ids.toSorted());
    const rows = await Rows.open(testDatabase.url);
    expect(await rows.count('task_leases')).toBe(0);
    expect(await rows.count("task_events WHERE payload LIKE '%replica_lost%'")).toBe(LEASES);
    await rows.close();
    expect(await violations(testDatabase.url)).toEqual([]);
    for (const sweeper of sweepers) await sweeper.close();
  }, 120_000);
});

function sweeperOver(
  database: Database,
  told: (taskId: string) => void,
): ReturnType<typeof createAbandonedTaskSweeper> {
  const clock = createSystemClock();
  const logger = createSilentLogger();
  const options = resolveLeaseOptions({ ttlMs: TTL_MS, heartbeatMs: 500 });
  const holder = `sweeper-${randomUUID().slice(0, 8)}`;
  const journal = createJournal({
    database,
    clock,
    holder,
    ttlMs: TTL_MS,
    onCommitted: ({ taskId }) => told(taskId),
  });
  const clockWatch = createClockWatch({ leases: database.leases, options, clock, logger });
  return createAbandonedTaskSweeper({
    journal,
    leases: database.leases,
    clockWatch,
    sweeperId: holder,
    options,
    clock,
    logger,
  });
}

describe.each(availableProviders())('what replicas do with expired leases, on %s', (provider) => {
  let cluster: TestCluster;
  let database: Database;
  let rows: Rows;

  beforeAll(async () => {
    cluster = await startCluster({ provider, count: 2 });
    database = await createDatabase({ url: cluster.database.url, ttlMs: TTL_MS, poolSize: 2 });
    rows = await Rows.open(cluster.database.url);
  });
  afterAll(async () => {
    await database.close();
    await rows.close();
    await cluster.end();
  });

  const leaseGone = (taskId: string): Promise<true> =>
    waitUntil({
      what: 'the lease is gone',
      limitMs: TTL_MS + 1_000,
      ask: async () => ((await rows.lease(taskId)) ? undefined : true),
    });

  test('a task that waits for input only loses the lease: same version, no event, and the next message runs', async () => {
    const taskId = await seedTask(database, { state: TaskState.TASK_STATE_INPUT_REQUIRED, ttlMs: 200 });
    const before = await rows.events(taskId);
    await leaseGone(taskId);
    expect(await rows.events(taskId)).toEqual(before);
    expect(await rows.task(taskId)).toEqual({ state: 'TASK_STATE_INPUT_REQUIRED', version: 2 });
    const answer = await cluster.replicas[1]!.client.send({ text: 'done', taskId });
    expect(answer.result?.task?.status.state).toBe('TASK_STATE_COMPLETED');
  });

  test('a message to such a task before any sweep takes the lease over', async () => {
    const taskId = await seedTask(database, { state: TaskState.TASK_STATE_INPUT_REQUIRED, ttlMs: TTL_MS });
    await database.leases.expireNow(taskId);
    const answer = await cluster.replicas[0]!.client.send({ text: 'done', taskId });
    expect(answer.result?.task?.status.state).toBe('TASK_STATE_COMPLETED');
  });

  test.each([
    TaskState.TASK_STATE_SUBMITTED,
    TaskState.TASK_STATE_WORKING,
    TaskState.TASK_STATE_AUTH_REQUIRED,
  ])('a turn in state %s is ended FAILED, for a subscriber as well', async (state) => {
    const taskId = await seedTask(database, { state, ttlMs: 700 });
    const watcher = new Recording(cluster.replicas[0]!.client.subscribe(taskId));
    const failed = await watcher.find((event) => stateOf(event) === 'TASK_STATE_FAILED');
    expect(failed.statusUpdate?.metadata?.['a2a-cluster']).toEqual({
      reason: 'replica_lost',
      expiredAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect(await watcher.ended).toBeNull();
    const events = await rows.events(taskId);
    expect(events.filter((event) => event.payload.includes('TASK_STATE_FAILED'))).toHaveLength(1);
  });

  test('a lease on an ended task, and one of a task that is gone, are dropped without a word', async () => {
    const ended = await seedTask(database, { state: TaskState.TASK_STATE_WORKING, ttlMs: 700 });
    const missing = await seedTask(database, { state: TaskState.TASK_STATE_WORKING, ttlMs: 700 });
    const raw = await openRaw(cluster.database.url);
    await raw.run(`UPDATE tasks SET state = 'TASK_STATE_COMPLETED' WHERE id = '${ended}'`);
    await raw.run(`DELETE FROM task_events WHERE task_id = '${missing}'`);
    await raw.run(`DELETE FROM tasks WHERE id = '${missing}'`);
    await raw.close();
    const before = await rows.events(ended);
    await leaseGone(ended);
    await leaseGone(missing);
    expect(await rows.events(ended)).toEqual(before);
    expect(await rows.events(missing)).toEqual([]);
    expect((await cluster.replicas[0]!.client.get(missing)).error?.code).toBe(-32001);
  });

  test('a dead holder is named in the tables and the logs, not to clients', async () => {
    const taskId = await seedTask(database, { state: TaskState.TASK_STATE_WORKING, ttlMs: 500 });
    await leaseGone(taskId);
    const task = await cluster.replicas[0]!.client.get(taskId);
    expect(task.result?.status.state).toBe('TASK_STATE_FAILED');
    expect(JSON.stringify(task)).not.toContain(DEAD);
    const names = cluster.replicas.map((replica) => replica.name);
    expect(names).toContain((await rows.events(taskId)).at(-1)?.holder.split('-')[0]);
  });
});
