import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { availableProviders, createTestDatabase, openRaw, type TestDatabase } from '@a2a-cluster/testing';
import { createDatabase } from '../src/create-database.js';
import type { Database } from '../src/database.js';
import { workingTask } from './support/postgresql.js';

/** Databases with locks of rows; on SQLite there is one for the whole file. */
const providers = availableProviders().filter((provider) => provider !== 'sqlite');

const BATCH = {
  limit: 10,
  sweeper: 's',
  statusTimestamp: '2026-01-01T00:00:00.000Z',
  text: 'lost',
  idleMs: 0,
};

describe.each(providers)('what others have locked, on %s', (provider) => {
  let target: TestDatabase;
  let db: Database;

  beforeAll(async () => {
    target = await createTestDatabase({ provider });
    db = await createDatabase({ url: target.url, ttlMs: 15_000, poolSize: 2 });
  });

  afterAll(async () => {
    await db.close();
    await target.drop();
  });

  /** A task that nobody runs, and that nobody writes to for a moment. */
  async function left(taskId: string, state: string): Promise<void> {
    const task = workingTask({ taskId, state });
    await db.journal.createTask(task);
    await db.leases.release({ taskId, holder: task.holder, epoch: 1 });
    const { nowMs } = await db.leases.readClock();
    while ((await db.leases.readClock()).nowMs < nowMs + 3);
  }

  /** Holds the row of a task while `work` runs. */
  async function holding(taskId: string, work: () => Promise<void>): Promise<void> {
    const raw = await openRaw(target.url);
    await raw.run('BEGIN');
    await raw.query(`SELECT id FROM tasks WHERE id = '${taskId}' FOR UPDATE`);
    try {
      await work();
      await raw.run('COMMIT');
    } finally {
      await raw.close();
    }
  }

  test('an ended task is passed over, and the others are not', async () => {
    for (const taskId of ['held', 'free']) await left(taskId, 'TASK_STATE_COMPLETED');
    const tasks = ['held', 'free'].map((taskId) => ({ taskId, version: 1, snapshot: '{}' }));
    const compaction = { tasks, endedForMs: 0, maxEvents: 10 };
    const purge = { taskIds: ['held', 'free'], endedForMs: 0, maxEvents: 10 };
    await holding('held', async () => {
      expect(await db.retention.compact(compaction)).toEqual({ events: 1, taskIds: ['free'] });
      expect(await db.retention.purge(purge)).toMatchObject({ purged: [{ taskId: 'free' }], events: 0 });
    });
    expect(await db.retention.compact(compaction)).toEqual({ events: 1, taskIds: ['held'] });
    expect(await db.retention.purge(purge)).toMatchObject({ purged: [{ taskId: 'held' }] });
  });

  test('a task without a lease is passed over, and the others are not', async () => {
    for (const taskId of ['opening', 'left']) await left(taskId, 'TASK_STATE_WORKING');
    await holding('opening', async () => {
      expect(await db.journal.sweepLeaseless(BATCH)).toMatchObject([{ taskId: 'left' }]);
    });
    expect(await db.journal.sweepLeaseless(BATCH)).toMatchObject([{ taskId: 'opening' }]);
  });
});
