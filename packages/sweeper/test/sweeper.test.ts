import { describe, expect, test } from '@jest/globals';
import {
  ClusterError,
  createSilentLogger,
  decodeEvent,
  FAILURE_TEXT,
  failureReasonOf,
} from '@a2a-cluster/core';
import { createMemoryDatabase } from '@a2a-cluster/db';
import { createClockWatch, resolveLeaseOptions } from '@a2a-cluster/lease-store';
import { describeServiceStress } from '@a2a-cluster/testing/contract';
import { createAbandonedTaskSweeper } from '../src/index.js';
import { createHarness, createTask, stateOf, TTL_MS } from './harness.js';

const FAILED = 'TASK_STATE_FAILED';
const NOTHING = { failed: 0, dropped: 0, orphans: 0, leaseless: 0, skipped: 0, quiet: false };

describe('a pass of the sweeper', () => {
  test('ends an abandoned turn FAILED and says so to people', async () => {
    const h = createHarness();
    await createTask(h.db, { taskId: 'a' });
    await h.clock.advance(TTL_MS - 1);
    expect(await h.sweeper.runOnce()).toEqual(NOTHING);
    await h.clock.advance(1);
    expect(await h.sweeper.runOnce()).toEqual({ ...NOTHING, failed: 1 });
    expect(await h.sweeper.runOnce()).toEqual(NOTHING);
    const [row] = await h.db.log.readEvents({ taskId: 'a', after: 1, limit: 10 });
    const event = decodeEvent('statusUpdate', row?.payload ?? '');
    if (event.kind !== 'statusUpdate') throw new Error(event.kind);
    expect(failureReasonOf(event.data.metadata)).toBe('replica_lost');
    expect(event.data.status?.timestamp).toBe(h.clock.wallIso());
    expect(JSON.stringify(event.data.status?.message)).toContain(FAILURE_TEXT.replica_lost);
    expect(row?.holder).toBe('replica-s');
    await h.sweeper.close();
  });

  test('only drops the lease of a turn that waits for input', async () => {
    const h = createHarness();
    await createTask(h.db, { taskId: 'parked', state: 'TASK_STATE_INPUT_REQUIRED' });
    await h.clock.advance(TTL_MS);
    expect(await h.sweeper.runOnce()).toEqual({ ...NOTHING, dropped: 1 });
    expect(await h.db.journal.look({ taskId: 'parked' })).toMatchObject({ version: 1, lease: null });
    await h.sweeper.close();
  });

  test('takes full batches until one is not full', async () => {
    const h = createHarness({ batchSize: 10 });
    for (let at = 0; at < 25; at += 1) await createTask(h.db, { taskId: `t${at}` });
    await h.clock.advance(TTL_MS);
    expect(await h.sweeper.runOnce()).toEqual({ ...NOTHING, failed: 25 });
    expect(h.sweeps.map((sweep) => sweep.limit)).toEqual([10, 10, 10]);
    await h.sweeper.close();
  });

  test.each([
    [30, undefined, [0, 30, 60]],
    [30, 1, [0, 60, 120]],
    [30, 0.5, [0, 45, 90]],
    [1_000, 1, [0, 1_200, 2_400]],
  ])(
    'after a full batch of %d ms rests for a share of that (%p), but not for long',
    async (statementMs, restShare, at) => {
      const h = createHarness({ batchSize: 10, statementMs, ...(restShare && { restShare }) });
      for (let n = 0; n < 25; n += 1) await createTask(h.db, { taskId: `t${n}` });
      await h.clock.advance(TTL_MS);
      const beganAtMs = h.clock.monotonicMs();
      const pass = h.sweeper.runOnce();
      await h.clock.advance(10_000);
      expect(await pass).toEqual({ ...NOTHING, failed: 25 });
      expect(h.sweeps.map(({ atMs }) => atMs - beganAtMs)).toEqual(at);
      await h.sweeper.close();
    },
  );

  test('passes over locked rows and says how many there are', async () => {
    const h = createHarness();
    for (const taskId of ['a', 'locked', 'b']) await createTask(h.db, { taskId });
    h.trouble.locked.add('locked');
    await h.clock.advance(TTL_MS);
    expect(await h.sweeper.runOnce()).toEqual({ ...NOTHING, failed: 2, skipped: 1 });
    await h.sweeper.close();
  });

  test('does not stop at a bad row, however many are good', async () => {
    const h = createHarness({ batchSize: 10 });
    for (let at = 0; at < 30; at += 1) await createTask(h.db, { taskId: `t${at}` });
    for (const taskId of ['t0', 't7', 't29']) h.trouble.bad.add(taskId);
    await h.clock.advance(TTL_MS);
    expect(await h.sweeper.runOnce()).toEqual({ ...NOTHING, failed: 27 });
    expect(h.logged.filter((line) => line.level === 'error').map((line) => line.taskId)).toEqual([
      't0',
      't7',
      't29',
    ]);
    await h.sweeper.close();
  });

  test.each([1, 3])('finds %d bad rows among hundreds in a few statements', async (count) => {
    const h = createHarness();
    for (let at = 0; at < 450; at += 1) await createTask(h.db, { taskId: `t${at}` });
    for (let n = 0; n < count; n += 1) h.trouble.bad.add(`t${40 + n * 190}`);
    await h.clock.advance(TTL_MS);
    expect(await h.sweeper.runOnce()).toEqual({ ...NOTHING, failed: 450 - count });
    expect(h.sweeps.length).toBeLessThan(25 * count);
    await h.sweeper.close();
  });

  test('tries a bad row again with growing pauses, told in ever fewer lines, and forgets it when it is mended', async () => {
    const h = createHarness();
    for (const taskId of ['good', 'bad']) await createTask(h.db, { taskId });
    h.trouble.bad.add('bad');
    await h.clock.advance(TTL_MS);
    await h.sweeper.runOnce();
    const singles = (): number => h.sweeps.filter((sweep) => sweep.taskId === 'bad').length;
    expect(singles()).toBe(1);
    for (let second = 0; second < 100; second += 1) {
      await h.clock.advance(1_000);
      await createTask(h.db, { taskId: `more ${second}`, ttlMs: 1 });
      await h.clock.advance(1);
      expect(await h.sweeper.runOnce()).toMatchObject({ failed: 1 });
    }
    expect(singles()).toBeGreaterThan(5);
    expect(singles()).toBeLessThan(9);
    expect(h.logged.filter((line) => line.taskId === 'bad').length).toBeLessThan(5);
    h.trouble.bad.clear();
    for (let at = 0; at < 60; at += 1) {
      await h.clock.advance(5_000);
      await h.sweeper.runOnce();
    }
    expect(await stateOf(h.db, 'bad')).toBe(FAILED);
    await createTask(h.db, { taskId: 'another', ttlMs: 1 });
    await h.clock.advance(2);
    await h.sweeper.runOnce();
    expect(h.sweeps.at(-1)?.except).toEqual([]);
    await h.sweeper.close();
  });

  test('blames no row when nothing can be written, and ends all turns within a second of it being possible', async () => {
    const h = createHarness({ batchSize: 50 });
    for (let at = 0; at < 40; at += 1) await createTask(h.db, { taskId: `t${at}` });
    h.trouble.readOnly = new ClusterError('STORE_FAULT', 'cannot execute in a read-only transaction');
    await h.sweeper.start();
    await h.clock.advance(TTL_MS + 60_000);
    const perSecond = h.sweeps.length / 60;
    expect(perSecond).toBeLessThan(30);
    h.trouble.readOnly = null;
    await h.clock.advance(1_000);
    for (let at = 0; at < 40; at += 1) expect(await stateOf(h.db, `t${at}`)).toBe(FAILED);
    await h.sweeper.close();
  });

  test('claims nothing during a quiet period', async () => {
    const h = createHarness();
    await createTask(h.db, { taskId: 'a' });
    await h.sweeper.runOnce();
    h.trouble.identity = 'two';
    await h.clock.advance(TTL_MS);
    expect(await h.sweeper.runOnce()).toEqual({ ...NOTHING, quiet: true });
    expect(await stateOf(h.db, 'a')).toBe('TASK_STATE_WORKING');
    await h.clock.advance(TTL_MS);
    expect(await h.sweeper.runOnce()).toEqual({ ...NOTHING, failed: 1 });
    await h.sweeper.close();
  });

  test('rejects when the database cannot be asked, and when the sweeper was closed', async () => {
    const h = createHarness();
    h.trouble.outage = new ClusterError('DATABASE_UNREACHABLE', 'connection refused');
    await expect(h.sweeper.runOnce()).rejects.toThrow('refused');
    await h.sweeper.close();
    await expect(h.sweeper.runOnce()).rejects.toMatchObject({ code: 'CLOSED' });
  });
});

describe('a running sweeper', () => {
  test('takes the baseline first and claims nothing in that pass', async () => {
    const h = createHarness();
    await createTask(h.db, { taskId: 'a', ttlMs: 1 });
    await h.clock.advance(1);
    await h.sweeper.start();
    await h.clock.advance(999);
    expect(h.sweeps).toEqual([]);
    await h.clock.advance(1);
    expect(await stateOf(h.db, 'a')).toBe(FAILED);
    await h.sweeper.close();
  });

  test.each([0, 1])('wakes at the earliest expiry, whatever the jitter (%d)', async (jitter) => {
    const h = createHarness({ random: () => jitter });
    await h.sweeper.start();
    await h.clock.advance(12_345);
    await createTask(h.db, { taskId: 'a' });
    await h.clock.advance(TTL_MS - 1);
    expect(await stateOf(h.db, 'a')).toBe('TASK_STATE_WORKING');
    await h.clock.advance(101);
    expect(await stateOf(h.db, 'a')).toBe(FAILED);
    await h.sweeper.close();
  });

  test('looks at the latest after the interval with its jitter, and never further apart than a blackout that matters', async () => {
    for (const jitter of [0, 0.5, 1]) {
      const h = createHarness({ random: () => jitter });
      await h.sweeper.start();
      await h.clock.advance(61_000);
      const gaps = h.sweeps.slice(1).map((sweep, at) => sweep.atMs - (h.sweeps[at]?.atMs ?? 0));
      const expected = Math.min(5_000 * (0.8 + 0.4 * jitter), h.clockWatch.longestPauseMs());
      for (const gap of gaps) expect(gap).toBeCloseTo(expected, 3);
      expect(h.clockWatch.quiet()).toBe(false);
      await h.sweeper.close();
    }
  });

  test('comes back soon for a locked row', async () => {
    const h = createHarness();
    await h.sweeper.start();
    await createTask(h.db, { taskId: 'locked' });
    h.trouble.locked.add('locked');
    await h.clock.advance(TTL_MS + 2_000);
    const tries = h.sweeps.filter((sweep) => sweep.atMs > TTL_MS).length;
    expect(tries).toBeGreaterThan(8);
    expect(tries).toBeLessThan(20);
    h.trouble.locked.clear();
    await h.clock.advance(200);
    expect(await stateOf(h.db, 'locked')).toBe(FAILED);
    await h.sweeper.close();
  });

  test('wakes in time for the next turn although a bad row has long expired', async () => {
    const h = createHarness();
    await h.sweeper.start();
    await createTask(h.db, { taskId: 'bad', ttlMs: 1_000 });
    h.trouble.bad.add('bad');
    await h.clock.advance(7_000);
    await createTask(h.db, { taskId: 'next' });
    await h.clock.advance(TTL_MS + 100);
    expect(await stateOf(h.db, 'next')).toBe(FAILED);
    expect(h.sweeps.length).toBeLessThan(100);
    await h.sweeper.close();
  });

  test('only backs off in an outage, in a few lines, and goes on after it', async () => {
    const h = createHarness();
    await h.sweeper.start();
    await createTask(h.db, { taskId: 'a' });
    await h.clock.advance(3_000);
    h.trouble.outage = new ClusterError('DATABASE_UNREACHABLE', 'connection refused');
    await h.clock.advance(60_000);
    const warnings = h.logged.filter((line) => line.message === 'sweeping failed').length;
    expect(warnings).toBeGreaterThan(2);
    expect(warnings).toBeLessThan(9);
    h.trouble.outage = null;
    // Long enough to have been a quiet period as well.
    await h.clock.advance(TTL_MS + 1_100);
    expect(await stateOf(h.db, 'a')).toBe(FAILED);
    expect(h.logged.map((line) => line.message)).toContain('sweeping works again');
    await h.sweeper.close();
  });

  test('ends a turn soon after a short outage over its expiry', async () => {
    const h = createHarness();
    await h.sweeper.start();
    await createTask(h.db, { taskId: 'a' });
    await h.clock.advance(TTL_MS - 100);
    h.trouble.outage = new ClusterError('DATABASE_UNREACHABLE', 'connection refused');
    await h.clock.advance(1_000);
    h.trouble.outage = null;
    await h.clock.advance(1_000);
    expect(await stateOf(h.db, 'a')).toBe(FAILED);
    await h.sweeper.close();
  });

  test('asks for no more than the next expiry where nothing has expired', async () => {
    const h = createHarness();
    await createTask(h.db, { taskId: 'alive' });
    let reads = 0;
    const never = async (): Promise<never> => {
      throw new Error('nothing has expired');
    };
    const sweeper = createAbandonedTaskSweeper({
      journal: { sweep: never, sweepOrphans: never, sweepLeaseless: never },
      leases: { ...h.db.leases, nextExpiry: () => ((reads += 1), h.db.leases.nextExpiry()) },
      clockWatch: h.clockWatch,
      sweeperId: 'replica-s',
      options: { sweepIntervalMs: 5_000, ttlMs: TTL_MS },
      clock: h.clock,
      logger: createSilentLogger(),
    });
    await sweeper.start();
    // The baseline, and a pass a second after it.
    await h.clock.advance(1_500);
    expect(reads).toBe(1);
    await sweeper.close();
  });

  test('drops leases that have no task', async () => {
    const h = createHarness();
    let orphans = ['x', 'y'];
    const journal = {
      sweep: h.db.journal.sweep,
      sweepOrphans: async (limit: number) => orphans.splice(0, limit),
      sweepLeaseless: h.db.journal.sweepLeaseless,
    };
    const sweeper = createAbandonedTaskSweeper({
      journal,
      leases: { ...h.db.leases, nextExpiry: async () => (orphans.length > 0 ? -1 : null) },
      clockWatch: h.clockWatch,
      sweeperId: 'replica-s',
      options: { sweepIntervalMs: 5_000, ttlMs: TTL_MS, batchSize: 2 },
      clock: h.clock,
      logger: createSilentLogger(),
    });
    expect(await sweeper.runOnce()).toEqual({ ...NOTHING, orphans: 2 });
    orphans = [];
    expect(await sweeper.runOnce()).toEqual(NOTHING);
    await sweeper.close();
  });
});

describeServiceStress('a sweeper', (clock) => {
  const { leases, journal } = createMemoryDatabase({ clock });
  const options = resolveLeaseOptions();
  const logger = createSilentLogger();
  const clockWatch = createClockWatch({ leases, options, clock, logger });
  return createAbandonedTaskSweeper({
    journal,
    leases,
    clockWatch,
    sweeperId: 'replica-s',
    options,
    clock,
    logger,
  });
});
