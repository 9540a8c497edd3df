import { describe, expect, test } from '@jest/globals';
import { ClusterError, createTally } from '@a2a-cluster/core';
import type { Database, EndedLeaseless, LeaselessBatch } from '@a2a-cluster/db';
import { createHarness, createTask, stateOf, TTL_MS } from './harness.js';

const FAILED = 'TASK_STATE_FAILED';
const ORPHAN_MS = 2 * TTL_MS;
const A_MINUTE_MS = 60_000;

/** A task as a build without leases leaves it. */
async function leave(db: Database, taskId: string): Promise<void> {
  await createTask(db, { taskId });
  await db.leases.release({ taskId, holder: 'replica-dead', epoch: 1 });
}

describe('tasks that run without a lease', () => {
  test('are left alone unless asked for', async () => {
    const h = createHarness();
    await leave(h.db, 'a');
    await h.clock.advance(100 * ORPHAN_MS);
    expect(await h.sweeper.runOnce()).toMatchObject({ leaseless: 0 });
    expect(await stateOf(h.db, 'a')).toBe('TASK_STATE_WORKING');
    await h.sweeper.close();
  });

  test('are ended once nobody has written to them for as long, and counted', async () => {
    const tally = createTally();
    const h = createHarness({ orphanAfterMs: ORPHAN_MS, telemetry: tally });
    await leave(h.db, 'a');
    const passes: number[] = [];
    for (let ms = 0; ms <= 2 * ORPHAN_MS; ms += 5_000) {
      passes.push((await h.sweeper.runOnce()).leaseless);
      await h.clock.advance(5_000);
    }
    // Exactly as old is not older: the look after it finds it.
    expect(passes).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    expect(await stateOf(h.db, 'a')).toBe(FAILED);
    expect(tally.total('leaseless_turns_ended_total')).toBe(1);
    await h.sweeper.close();
  });

  test('are looked for once a minute at most', async () => {
    const asked: number[] = [];
    const h = createHarness({
      orphanAfterMs: 10 * A_MINUTE_MS,
      sweepLeaseless: async () => (asked.push(h.clock.monotonicMs()), []),
    });
    for (let second = 0; second <= 120; second += 1) {
      await h.sweeper.runOnce();
      await h.clock.advance(1_000);
    }
    expect(asked).toHaveLength(3);
    await h.sweeper.close();
  });

  test('are left for a later pass where there are many, so that dead turns are not kept waiting', async () => {
    const rows = Array.from({ length: 100 }, (_, at): EndedLeaseless => ended(`t${at}`));
    const h = createHarness({
      batchSize: 2,
      orphanAfterMs: ORPHAN_MS,
      sweepLeaseless: async ({ limit }) => rows.splice(0, limit),
    });
    const first = await h.sweeper.runOnce();
    expect(first.leaseless).toBeGreaterThan(0);
    expect(first.leaseless).toBeLessThan(100);
    const more = [await h.sweeper.runOnce(), await h.sweeper.runOnce()];
    expect(first.leaseless + more.reduce((sum, pass) => sum + pass.leaseless, 0)).toBe(100);
    await h.sweeper.close();
  });

  test('a row that cannot be ended does not keep the others or the sweep of leases', async () => {
    const rows = ['good 1', 'bad', 'good 2'];
    const h = createHarness({
      orphanAfterMs: ORPHAN_MS,
      sweepLeaseless: async ({ limit, skip = 0 }: LeaselessBatch) => {
        const taken = rows.slice(skip, skip + limit);
        if (taken.includes('bad')) throw new ClusterError('STORE_FAULT', 'duplicate key');
        rows.splice(skip, taken.length);
        return taken.map(ended);
      },
    });
    await createTask(h.db, { taskId: 'dead' });
    await h.clock.advance(TTL_MS);
    expect(await h.sweeper.runOnce()).toMatchObject({ failed: 1, leaseless: 2 });
    expect(rows).toEqual(['bad']);
    await h.sweeper.close();
  });

  test.each([1, 2 * TTL_MS - 1])('an orphan age of %d is refused with both numbers', (orphanAfterMs) => {
    const make = () => createHarness({ orphanAfterMs });
    expect(make).toThrow(`orphanAfterMs is ${orphanAfterMs}`);
    expect(make).toThrow('30000');
  });
});

function ended(taskId: string): EndedLeaseless {
  return { taskId, scope: { tenant: '', owner: 'alice' }, epoch: 1, failed: { seq: 2, payload: '{}' } };
}
