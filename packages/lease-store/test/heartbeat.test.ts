import { describe, expect, test } from '@jest/globals';
import type { Renewed } from '@a2a-cluster/db';
import { describeServiceStress } from '@a2a-cluster/testing/contract';
import { createSilentLogger } from '@a2a-cluster/core';
import { createMemoryDatabase } from '@a2a-cluster/db';
import { createHeartbeat, resolveLeaseOptions } from '../src/index.js';
import { createHarness, createTask, deferred, hang, pass, takeOver, watch } from './harness.js';

describe('a heartbeat', () => {
  test('keeps all leases with one statement per interval', async () => {
    const h = createHarness();
    await h.heartbeat.start();
    const leases = [await h.acquire('a'), await h.acquire('b'), await h.acquire('c')];
    await h.clock.advance(150_000);
    expect(h.beats).toHaveLength(30);
    expect(h.beats.every((beat) => beat.leases === 3 && beat.renewed === 3)).toBe(true);
    for (const lease of leases) {
      expect(lease.held.isHeld()).toBe(true);
      expect(await h.rowRemainingMs(lease.key)).toBeGreaterThan(9_000);
    }
    await h.heartbeat.close();
  });

  test('renews a lease at once whose opening took so long that it might run out before the next beat', async () => {
    const h = createHarness();
    await h.heartbeat.start();
    const sentAtMs = h.clock.monotonicMs();
    await h.clock.advance(10_000);
    // The answer of an earlier attempt was lost: the lease is trusted from when that was sent.
    await createTask(h.db, { taskId: 'a', ttlMs: 15_000 });
    const lease = watch(h.heartbeat, { key: { taskId: 'a', epoch: 1 }, sentAtMs, clock: h.clock });
    await h.clock.flush();
    expect(lease.held.remainingMs()).toBe(13_500);
    await h.clock.advance(4_000);
    expect(lease.lost).toEqual([]);
    await h.heartbeat.close();
  });

  test('asks nothing while nothing is held', async () => {
    const h = createHarness();
    await h.heartbeat.start();
    await h.clock.advance(60_000);
    expect(h.beats).toEqual([]);
    expect(h.heartbeat.status()).toEqual({ heldCount: 0, lastBeatAgeMs: null, lastAttemptAgeMs: 0 });
    await h.heartbeat.close();
  });

  test('tells how many leases it holds and how old the last answered beat is', async () => {
    const h = createHarness();
    await h.heartbeat.start();
    await h.acquire('a');
    await h.clock.advance(3_000);
    expect(h.heartbeat.status()).toEqual({ heldCount: 1, lastBeatAgeMs: 3_000, lastAttemptAgeMs: 3_000 });
    await h.clock.advance(4_000);
    expect(h.heartbeat.status()).toEqual({ heldCount: 1, lastBeatAgeMs: 2_000, lastAttemptAgeMs: 2_000 });
    h.fault.beat = hang;
    await h.clock.advance(5_000);
    expect(h.heartbeat.status()).toEqual({ heldCount: 1, lastBeatAgeMs: 7_000, lastAttemptAgeMs: 2_000 });
    await h.heartbeat.close();
    expect(h.heartbeat.status().lastAttemptAgeMs).toBeNull();
  });

  test('measures the interval from beat to beat, so a slow beat neither stacks nor shifts the next', async () => {
    const h = createHarness();
    const sent: number[] = [];
    h.fault.beat = async (beat) => {
      sent.push(h.clock.monotonicMs());
      await pass(h.clock, 2_500);
      return h.db.leases.beat(beat);
    };
    await h.heartbeat.start();
    await h.acquire('a');
    await h.clock.advance(21_000);
    expect(sent).toEqual([5_000, 10_000, 15_000, 20_000]);
    await h.heartbeat.close();
  });

  test('never lets a slow success lengthen the trust', async () => {
    const h = createHarness();
    const { held } = await h.acquire('a');
    h.fault.beat = async (beat) => {
      const answer = await h.db.leases.beat(beat);
      await pass(h.clock, 2_900);
      return answer;
    };
    const beat = h.heartbeat.runOnce();
    await h.clock.advance(2_900);
    await beat;
    expect(held.remainingMs()).toBe(13_500 - 2_900);
    await h.heartbeat.close();
  });

  test('takes an answer after the old deadline for a loss, though it says renewed', async () => {
    const h = createHarness();
    const lease = await h.acquire('a');
    await h.clock.advance(12_000);
    const answer = deferred<readonly Renewed[]>();
    h.fault.beat = () => answer.promise;
    const beat = h.heartbeat.runOnce();
    await h.clock.flush();
    // The process stops; when it runs again the answer is read before any timer.
    h.clock.stall(1_600);
    answer.resolve([{ taskId: 'a', epoch: 1, cancelAgeMs: null }]);
    await h.clock.flush();
    expect(lease.lost).toEqual([{ cause: 'deadline', atMs: 13_600 }]);
    expect(await beat).toMatchObject({ renewed: 0, lost: 1 });
    await h.heartbeat.close();
  });

  test('loses everything in the first timer phase after a pause, before it asks again', async () => {
    const h = createHarness();
    await h.heartbeat.start();
    const lease = await h.acquire('a');
    await h.clock.advance(1_000);
    h.clock.stall(20_000);
    expect(lease.held.isHeld()).toBe(false);
    await h.clock.advance(0);
    expect(lease.lost).toEqual([{ cause: 'deadline', atMs: 21_000 }]);
    expect(h.beats).toEqual([]);
    await h.heartbeat.close();
  });

  test('names a process that stood still as the cause, and does not where a database is slow', async () => {
    const h = createHarness();
    await h.heartbeat.start();
    await h.acquire('a');
    h.clock.stall(20_000);
    await h.clock.advance(0);
    h.fault.beat = hang;
    h.fault.readLeases = hang;
    await h.acquire('b');
    await h.clock.advance(13_500);
    const lost = h.logged.filter(({ message }) => message === 'lease lost').map(({ fields }) => fields);
    expect(lost).toMatchObject([
      { taskId: 'a', lateMs: 6_500, why: expect.stringContaining('stood still') },
      { taskId: 'b', cause: 'deadline' },
    ]);
    expect(lost[1]).not.toHaveProperty('lateMs');
    await h.heartbeat.close();
  });

  test('loses a lease at its own deadline, before the expiry, when the beat hangs', async () => {
    const h = createHarness();
    await h.heartbeat.start();
    const lease = await h.acquire('a');
    h.fault.beat = hang;
    h.fault.readLeases = hang;
    await h.clock.advance(13_499);
    expect(lease.lost).toEqual([]);
    expect(lease.held.isHeld()).toBe(true);
    await h.clock.advance(1);
    expect(lease.lost).toEqual([{ cause: 'deadline', atMs: 13_500 }]);
    expect(lease.held.isHeld()).toBe(false);
    expect(await h.rowRemainingMs(lease.key)).toBe(1_500);
    await h.heartbeat.close();
  });

  test('counts a row of the same holder under another epoch as lost', async () => {
    const h = createHarness();
    const lease = await h.acquire('a');
    await takeOver(h.db, { taskId: 'a', holder: 'replica-a' });
    expect(await h.heartbeat.runOnce()).toMatchObject({ leases: 1, renewed: 0, lost: 1 });
    expect(lease.lost).toMatchObject([{ cause: 'taken' }]);
    await h.heartbeat.close();
  });

  test('counts a missing row as lost at once', async () => {
    const h = createHarness();
    const lease = await h.acquire('a');
    await h.db.leases.release({ taskId: 'a', epoch: 1, holder: 'replica-a' });
    await h.heartbeat.runOnce();
    expect(lease.lost).toMatchObject([{ cause: 'gone' }]);
    await h.heartbeat.close();
  });

  test('keeps the old and the new turn of one task apart', async () => {
    const h = createHarness();
    const old = await h.acquire('a');
    const sentAtMs = h.clock.monotonicMs();
    const epoch = await takeOver(h.db, { taskId: 'a', holder: 'replica-a' });
    const fresh = watch(h.heartbeat, { key: { taskId: 'a', epoch }, sentAtMs, clock: h.clock });
    expect(await h.heartbeat.runOnce()).toMatchObject({ leases: 2, renewed: 1, lost: 1 });
    expect(old.lost).toHaveLength(1);
    expect(fresh.held.isHeld()).toBe(true);
    await h.heartbeat.close();
  });

  test('gives a lease that came too late no time at all', async () => {
    const h = createHarness();
    await createTask(h.db, { taskId: 'a', ttlMs: 15_000 });
    await h.clock.advance(14_000);
    const lease = watch(h.heartbeat, { key: { taskId: 'a', epoch: 1 }, sentAtMs: 0, clock: h.clock });
    expect(lease.held.isHeld()).toBe(false);
    expect(lease.lost).toEqual([]);
    await h.clock.advance(0);
    expect(lease.lost).toMatchObject([{ cause: 'deadline' }]);
    await h.heartbeat.close();
  });

  test('tells of a cancel mark once, with its age by the database', async () => {
    const h = createHarness();
    await h.heartbeat.start();
    const lease = await h.acquire('a');
    await h.clock.advance(1_000);
    await h.db.leases.markCancel(lease.key);
    await h.clock.advance(20_000);
    expect(lease.cancels).toEqual([4_000]);
    await h.heartbeat.close();
  });

  test('goes on when the callbacks of others throw or reject', async () => {
    const h = createHarness({
      onBeat: () => {
        throw new Error('metrics');
      },
    });
    await h.heartbeat.start();
    const other = await h.acquire('other');
    await createTask(h.db, { taskId: 'bad', ttlMs: 15_000 });
    h.heartbeat.hold({
      lease: { taskId: 'bad', epoch: 1 },
      sentAtMs: 0,
      onLost: async () => {
        throw new Error('lost');
      },
      onCancelRequested: () => {
        throw new Error('cancel');
      },
    });
    await h.db.leases.markCancel({ taskId: 'bad', epoch: 1 });
    await h.clock.advance(6_000);
    await h.db.leases.release({ taskId: 'bad', epoch: 1, holder: 'replica-a' });
    await h.clock.advance(60_000);
    expect(other.held.isHeld()).toBe(true);
    expect(h.logged.filter((line) => line.level === 'error').length).toBeGreaterThan(3);
    await h.heartbeat.close();
  });

  test('tells nothing after it was closed, and renews nothing', async () => {
    const h = createHarness();
    await h.heartbeat.start();
    const lease = await h.acquire('a');
    const beat = h.clock.advance(5_000);
    await beat;
    await h.heartbeat.close();
    expect(h.clock.pendingTimers()).toBe(0);
    expect(lease.held.isHeld()).toBe(true);
    await h.clock.advance(60_000);
    expect(lease.lost).toEqual([]);
    expect(lease.held.isHeld()).toBe(false);
    expect(h.beats).toHaveLength(1);
  });

  test('closes while a beat, a look-up and a release hang', async () => {
    const h = createHarness();
    await h.heartbeat.start();
    const released = await h.acquire('released');
    await h.acquire('unknown');
    h.fault.release = hang;
    h.fault.beat = async () => [];
    h.fault.readLeases = hang;
    const release = released.held.release();
    await h.clock.advance(5_000);
    h.fault.beat = hang;
    const beat = h.heartbeat.runOnce();
    await h.heartbeat.close();
    await Promise.all([release, beat]);
    expect(h.clock.pendingTimers()).toBe(0);
  });
});

describeServiceStress('a heartbeat', (clock) =>
  createHeartbeat({
    leases: createMemoryDatabase({ clock }).leases,
    holder: 'replica-a',
    options: resolveLeaseOptions(),
    clock,
    logger: createSilentLogger(),
  }),
);
