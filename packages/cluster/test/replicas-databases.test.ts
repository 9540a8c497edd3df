import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Task } from '@a2a-js/sdk';
import { TaskState } from '@a2a-js/sdk';
import { createDatabase, type Database, type ReplicaListing } from '@a2a-cluster/db';
import {
  availableProviders,
  createTestDatabase,
  openRaw,
  startCapture,
  type RawConnection,
  type TestDatabase,
} from '@a2a-cluster/testing';
import { statusEvent, taskEvent } from '../../../test/integration/support/events.js';
import type { Cluster, ClusterOptions } from '../src/index.js';
import {
  contextOf,
  executor,
  gate,
  idle,
  newCluster,
  request,
  send,
  until,
  watchedDatabase,
  type Watched,
} from './support.js';

const HEARTBEAT_MS = 100;
const lease = { ttlMs: 3_000, heartbeatMs: HEARTBEAT_MS, sweepIntervalMs: 1_000 };

describe.each(availableProviders())('replicas on %s', (provider) => {
  let server: TestDatabase;
  let raw: RawConnection;
  const opened: { readonly cluster: Cluster; readonly watched: Watched; readonly database: Database }[] = [];

  beforeAll(async () => {
    server = await createTestDatabase({ provider });
    raw = await openRaw(server.url);
  });
  afterEach(async () => {
    const all = opened.splice(0);
    await Promise.all(all.map(({ cluster }) => cluster.close({ drainTimeoutMs: 1 })));
    await Promise.all(all.map(({ database }) => database.close()));
    await raw.run('DELETE FROM replicas');
  });
  afterAll(async () => {
    await raw.close();
    await server.drop();
  });

  async function start(more: Partial<ClusterOptions> = {}) {
    const database = await createDatabase({ url: server.url, ttlMs: lease.ttlMs, poolSize: 4 });
    const watched = watchedDatabase(database);
    const options = { database: watched.database, executor: idle, lease, ...more };
    const cluster = await newCluster(options);
    opened.push({ cluster, watched, database });
    await cluster.start();
    await until(() => cluster.status().ready);
    return { cluster, watched, id: cluster.status().replicaId };
  }

  const seenBy = (cluster: Cluster, id: string): ReplicaListing | undefined =>
    cluster.operator.replicas.known().replicas.find(({ replicaId }) => replicaId === id);

  test('see each other, by name, version and phase', async () => {
    const [a, b] = [await start({ replicaId: 'a' }), await start({ replicaId: 'b' })];
    await until(
      () => seenBy(a.cluster, b.id)?.phase === 'running' && seenBy(b.cluster, a.id)?.phase === 'running',
    );
    expect(seenBy(a.cluster, b.id)).toMatchObject({
      ...{ replicaId: b.id, version: expect.stringMatching(/^\d+\.\d+\.\d+/), pid: process.pid },
      ...{ heartbeatMs: HEARTBEAT_MS, phase: 'running', pauseRequested: false },
    });
    const listed = await a.cluster.operator.replicas.list();
    expect(listed.map(({ replicaId }) => replicaId).sort()).toEqual([a.id, b.id].sort());
    await b.cluster.close({ drainTimeoutMs: 1 });
    await until(() => seenBy(a.cluster, b.id) === undefined);
    expect(await a.cluster.operator.replicas.list()).toHaveLength(1);
  });

  test('a paused one takes no turns and is not ready; its turns go on; resumed, it takes them again', async () => {
    const finish = gate();
    const [a, b] = [
      await start({
        executor: executor(async (context, bus) => {
          bus.publish(taskEvent(context));
          await finish.passed;
          bus.publish(statusEvent(context, TaskState.TASK_STATE_COMPLETED));
        }),
      }),
      await start(),
    ];
    const { id } = await send(a.cluster, request('go', { immediately: true }));
    expect(await b.cluster.operator.replicas.drain(a.id)).toBe(true);
    await until(() => seenBy(b.cluster, a.id)?.phase === 'paused');
    expect(a.cluster.status()).toMatchObject({
      ...{ ready: false, paused: true, reasons: ['paused by an operator'], runningTurns: 1 },
    });
    const refused = { metadata: { reason: 'REPLICA_DRAINING', retryAfterMs: String(HEARTBEAT_MS) } };
    await expect(send(a.cluster, request('go'))).rejects.toMatchObject(refused);
    const read = () =>
      a.cluster.requestHandler.getTask({ id, tenant: '' } as never, contextOf()) as Promise<Task>;
    expect((await read()).id).toBe(id);
    finish.open();
    await until(async () => (await read()).status?.state === TaskState.TASK_STATE_COMPLETED);
    expect(await b.cluster.operator.replicas.resume(a.id)).toBe(true);
    await until(() => a.cluster.status().ready);
    expect((await send(a.cluster, request('go'))).status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(await b.cluster.operator.replicas.drain('nobody')).toBe(false);
    expect(await b.cluster.operator.replicas.resume('a\u0000b')).toBe(false);
  });

  test('one that was stopped falls silent and stays to be seen; one whose row was deleted comes back', async () => {
    const [a, b] = [await start({ replicaId: 'a' }), await start({ replicaId: 'b' })];
    await until(() => seenBy(a.cluster, a.id) !== undefined && seenBy(b.cluster, a.id)?.phase === 'running');
    await raw.run(`DELETE FROM replicas WHERE replica_id = '${a.id}'`);
    const entered = () => raw.query(`SELECT replica_id FROM replicas WHERE replica_id = '${a.id}'`);
    await until(async () => (await entered()).length === 1);
    a.watched.hang();
    await until(() => (seenBy(b.cluster, a.id)?.beatAgeMs ?? 0) > 4 * HEARTBEAT_MS);
    expect(seenBy(b.cluster, b.id)?.beatAgeMs).toBeLessThan(4 * HEARTBEAT_MS);
  });

  test('a replica that is idle sends one statement about replicas per heartbeat, and asks nothing just to ask', async () => {
    const capture = startCapture(provider);
    try {
      const { cluster, watched, id } = await start();
      await until(() => seenBy(cluster, id)?.phase === 'running');
      capture.take();
      watched.calls.length = 0;
      const count = (name: string) => watched.calls.filter((call) => call === name).length;
      await until(() => count('report') === 10);
      const sent = capture.take().map(({ sql }) => sql);
      const reports = sent.filter((sql) => /UPDATE replicas/.test(sql));
      // One may have been under way when the count began, and one may still be.
      expect(reports.length).toBeGreaterThanOrEqual(9);
      expect(reports.length).toBeLessThanOrEqual(11);
      expect(['ping', 'list', 'register', 'forget'].map(count)).toEqual([0, 0, 0, 0]);
      expect(sent.filter((sql) => /^\s*SELECT 1\s*$/.test(sql))).toEqual([]);
    } finally {
      capture.stop();
    }
  });

  if (provider !== 'postgresql') return;

  const endless = executor((context, bus) => {
    bus.publish(taskEvent(context));
    return new Promise(() => {});
  });

  test('beats carry the reports of a replica that runs a turn', async () => {
    const { cluster, watched, id } = await start({ executor: endless });
    await send(cluster, request('go', { immediately: true }));
    await until(() => seenBy(cluster, id)?.stats.heldLeases === 1);
    watched.calls.length = 0;
    await until(() => watched.calls.filter((name) => name === 'list').length >= 5);
    const count = (name: string) => watched.calls.filter((call) => call === name).length;
    // Where the two drift apart the board may come just before a beat.
    expect(count('report')).toBeLessThanOrEqual(1);
    expect(seenBy(cluster, id)?.beatAgeMs).toBeLessThan(4 * HEARTBEAT_MS);
  });

  test('a table of replicas that is locked as a whole costs no lease', async () => {
    const { cluster, watched, id } = await start({ executor: endless });
    await send(cluster, request('go', { immediately: true }));
    await until(() => watched.calls.includes('list'));
    const lock = await openRaw(server.url);
    await lock.run('BEGIN; LOCK TABLE replicas IN ACCESS EXCLUSIVE MODE');
    try {
      const lockedAtMs = performance.now();
      await until(() => performance.now() - lockedAtMs > lease.ttlMs + 1_000);
      expect(cluster.status()).toMatchObject({ runningTurns: 1, heldLeases: 1 });
      expect(cluster.status().lastBeatAgeMs).toBeLessThan(4 * HEARTBEAT_MS);
    } finally {
      await lock.run('COMMIT');
      await lock.close();
    }
    watched.calls.length = 0;
    await until(() => watched.calls.includes('list'));
    expect((await cluster.operator.replicas.list()).map(({ replicaId }) => replicaId)).toContain(id);
  }, 20_000);

  test('an idle replica is not ready while the database takes no writes', async () => {
    const { cluster } = await start();
    const [row] = await raw.query('SELECT current_database() AS name');
    const set = (value: string): Promise<void> =>
      raw.run(`ALTER DATABASE "${String(row?.['name'])}" SET default_transaction_read_only = ${value};
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()`);
    await set('on');
    try {
      await until(() => !cluster.status().ready);
      expect(cluster.status().reasons).toEqual([expect.stringMatching(/^no answer of the database for/)]);
    } finally {
      await set('off');
    }
    await until(() => cluster.status().ready);
  }, 20_000);
});
