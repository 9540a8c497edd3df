import { describe, expect, test } from '@jest/globals';
import { createSilentLogger, createSystemClock } from '@a2a-cluster/core';
import { createDatabase, type Database, type SweptLease } from '@a2a-cluster/db';
import { createClockWatch, resolveLeaseOptions } from '@a2a-cluster/lease-store';
import { availableProviders, createTestDatabase } from '@a2a-cluster/testing';
import { createAbandonedTaskSweeper, type AbandonedTaskSweeper } from '../src/index.js';
import { createTask } from './harness.js';

const TASKS = 1_000;
const SWEEPERS = 10;
const clock = createSystemClock();
const logger = createSilentLogger();
const lease = resolveLeaseOptions();

function createSweeper(
  db: Database,
  options: { readonly id: string; readonly seen: SweptLease[] },
): AbandonedTaskSweeper {
  const clockWatch = createClockWatch({ leases: db.leases, options: lease, clock, logger });
  return createAbandonedTaskSweeper({
    journal: {
      async sweep(batch) {
        const outcome = await db.journal.sweep(batch);
        options.seen.push(...outcome.swept);
        return outcome;
      },
      sweepOrphans: (limit) => db.journal.sweepOrphans(limit),
      sweepLeaseless: (batch) => db.journal.sweepLeaseless(batch),
    },
    leases: db.leases,
    clockWatch,
    sweeperId: options.id,
    options: { ...lease, batchSize: 50 },
    clock,
    logger,
  });
}

/** Every task of the test, so that its log can be counted. */
async function failedEvents(db: Database): Promise<number> {
  const cursors = Array.from({ length: TASKS }, (_, at) => ({ taskId: `task ${at}`, after: 0 }));
  const rows = await db.log.readEventsOf({ cursors, limit: 10 * TASKS });
  return rows.filter((row) => row.kind === 'statusUpdate').length;
}

describe.each(availableProviders())('ten sweepers on %s', (provider) => {
  test('end a thousand abandoned turns exactly once each', async () => {
    const target = await createTestDatabase({ provider });
    const open = (): Promise<Database> =>
      createDatabase({ url: target.url, ttlMs: lease.ttlMs, poolSize: 3, logger });
    const databases = [await open(), await open()];
    try {
      const [first] = databases as [Database, Database];
      for (let at = 0; at < TASKS; at += 20) {
        const chunk = Array.from({ length: 20 }, (_, more) => `task ${at + more}`);
        await Promise.all(chunk.map((taskId) => createTask(first, { taskId, ttlMs: 1 })));
      }
      const seen: SweptLease[] = [];
      const sweepers = Array.from({ length: SWEEPERS }, (_, at) =>
        createSweeper(databases[at % 2] as Database, { id: `replica-${at}`, seen }),
      );
      let failed = 0;
      for (let left = true; left;) {
        const results = await Promise.all(sweepers.map((sweeper) => sweeper.runOnce()));
        failed += results.reduce((sum, result) => sum + result.failed, 0);
        left = (await first.leases.nextExpiry()) !== null;
      }
      expect(failed).toBe(TASKS);
      expect(new Set(seen.map((swept) => swept.taskId)).size).toBe(TASKS);
      expect(seen).toHaveLength(TASKS);
      expect(await failedEvents(first)).toBe(TASKS);
      await Promise.all(sweepers.map((sweeper) => sweeper.close()));
    } finally {
      await Promise.all(databases.map((db) => db.close()));
      await target.drop();
    }
  });
});
