import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { availableProviders } from '@a2a-cluster/testing';
import type { Database } from '../src/database.js';
import { statsOf } from '../src/statements/replica-rows.js';
import { MysqlBench } from './support/mysql.js';
import { PostgresBench, workingTask } from './support/postgresql.js';

const stats = { ...statsOf('{}'), heldLeases: 1 };
const identity = { version: '1.0.0', host: 'here', pid: 1, heartbeatMs: 5_000 };
const REPLICA = 'replica-a';
const LOCKED = { replicaId: REPLICA, phase: 'running' };

/** Somebody holds the row of a replica, an operator's session say, for as long as `work` takes. */
type WhileLocked = (lock: string, work: () => Promise<void>) => Promise<void>;

function describeLocks(
  open: () => Promise<{ db: Database; whileLocked: WhileLocked; close(): Promise<void> }>,
) {
  let opened: Awaited<ReturnType<typeof open>>;
  beforeAll(async () => {
    opened = await open();
    await opened.db.replicas.register({
      replicaId: REPLICA,
      ...identity,
      phase: 'running',
      stats: statsOf('{}'),
    });
    await opened.db.replicas.register({ replicaId: 'other', ...identity, phase: 'running', stats });
  });
  afterAll(() => opened.close());

  const rowLock = `SELECT replica_id FROM replicas WHERE replica_id = '${REPLICA}' FOR UPDATE`;

  test('a report passes over its row while somebody has it locked, and reads it as it was', async () => {
    const { db, whileLocked } = opened;
    const report = { replicaId: REPLICA, phase: 'draining', stats } as const;
    await whileLocked(rowLock, async () => {
      const read = await db.replicas.report(report);
      expect(read).toHaveLength(2);
      expect(read).toContainEqual(expect.objectContaining(LOCKED));
    });
    expect(await db.replicas.report(report)).toContainEqual(
      expect.objectContaining({ replicaId: REPLICA, phase: 'draining', stats }),
    );
  });

  test('replicas are forgotten around one whose row is locked', async () => {
    const { db, whileLocked } = opened;
    await whileLocked(rowLock, async () => {
      expect(await db.replicas.forget(-60_000)).toBe(1);
    });
    expect(await db.replicas.list()).toMatchObject([{ replicaId: REPLICA }]);
  });
}

const providers = availableProviders();

describe.each(providers.filter((one) => one === 'postgresql'))('locked rows of replicas on %s', () => {
  describeLocks(async () => {
    const bench = await PostgresBench.open();
    const whileLocked: WhileLocked = async (lock, work) => {
      const held = await bench.hold(lock);
      await work().finally(() => held.free());
    };
    return { db: await bench.replica(), whileLocked, close: () => bench.close() };
  });

  test('a beat waits for no row of replicas: its leases are renewed, and the row is left as it was', async () => {
    const bench = await PostgresBench.open();
    try {
      const db = await bench.replica();
      await db.replicas.register({ replicaId: REPLICA, ...identity, phase: 'running', stats: statsOf('{}') });
      const { taskId } = workingTask();
      await db.journal.createTask(workingTask({ taskId }));
      const held = await bench.hold(`SELECT 1 FROM replicas FOR UPDATE`);
      const report = { replicaId: REPLICA, phase: 'draining', stats } as const;
      const beat = { holder: REPLICA, ttlMs: 60_000, leases: [{ taskId, epoch: 1 }], report };
      expect(await db.leases.beat(beat)).toEqual([{ taskId, epoch: 1, cancelAgeMs: null }]);
      expect(await db.replicas.list()).toMatchObject([LOCKED]);
      await held.free();
      expect(await db.leases.beat(beat)).toHaveLength(1);
      expect(await db.replicas.list()).toMatchObject([{ replicaId: REPLICA, phase: 'draining' }]);
    } finally {
      await bench.close();
    }
  });

  test('reports are heap-only updates, also those of beats', async () => {
    const bench = await PostgresBench.open();
    try {
      const db = await bench.replica();
      await db.replicas.register({ replicaId: REPLICA, ...identity, phase: 'running', stats: statsOf('{}') });
      const { taskId } = workingTask();
      await db.journal.createTask(workingTask({ taskId }));
      for (let count = 0; count < 50; count += 1) {
        const report = {
          replicaId: REPLICA,
          phase: 'running',
          stats: { ...stats, turnsStarted: count },
        } as const;
        await db.replicas.report(report);
        await db.leases.beat({ holder: REPLICA, ttlMs: 60_000, leases: [{ taskId, epoch: 1 }], report });
      }
      // What a backend counted is told when it ends.
      await db.close();
      const counts = async () =>
        (
          await bench.raw.query(
            `SELECT n_tup_upd::int AS all, n_tup_hot_upd::int AS hot FROM pg_stat_user_tables WHERE relname = 'replicas'`,
          )
        )[0];
      let seen = await counts();
      while (Number(seen?.['all']) < 100) seen = await counts();
      expect(seen).toEqual({ all: 100, hot: 100 });
    } finally {
      await bench.close();
    }
  });
});

describe.each(providers.filter((one) => one === 'mysql'))('locked rows of replicas on %s', () => {
  describeLocks(async () => {
    const bench = await MysqlBench.open();
    const whileLocked: WhileLocked = async (lock, work) => {
      const held = await bench.hold(lock);
      await work().finally(() => held.free());
    };
    return { db: await bench.replica(), whileLocked, close: () => bench.close() };
  });
});
