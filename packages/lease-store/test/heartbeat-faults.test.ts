import { describe, expect, test } from '@jest/globals';
import type { Renewed } from '@a2a-cluster/db';
import { survivableBlackoutMs } from '../src/index.js';
import { createHarness, deferred, hang, pass, type Harness } from './harness.js';

/** The row of a task is locked by somebody else. */
function lockRow(h: Harness, taskId: string): { readonly singles: number[]; unlock(): void } {
  const singles: number[] = [];
  let locked = true;
  h.fault.beat = (beat) => {
    const leases = beat.leases.filter((lease) => !locked || lease.taskId !== taskId);
    return h.db.leases.beat({ ...beat, leases });
  };
  h.fault.beatOne = async (beat) => {
    singles.push(beat.waitMs);
    if (!locked || beat.lease.taskId !== taskId) return h.db.leases.beatOne(beat);
    await pass(h.clock, beat.waitMs);
    return null;
  };
  return { singles, unlock: () => (locked = false) };
}

function down(h: Harness): void {
  const refuse = async (): Promise<never> => {
    throw new Error('connection refused');
  };
  Object.assign(h.fault, { beat: refuse, beatOne: refuse, readLeases: refuse, release: refuse });
}

function silent(h: Harness): void {
  Object.assign(h.fault, { beat: hang, beatOne: hang, readLeases: hang, release: hang });
}

function up(h: Harness): void {
  for (const name of ['beat', 'beatOne', 'readLeases', 'release'] as const) delete h.fault[name];
}

describe('a locked row', () => {
  test('does not lose the others, and is lost at its own deadline alone', async () => {
    const h = createHarness();
    await h.heartbeat.start();
    const locked = await h.acquire('locked');
    const others = await Promise.all(Array.from({ length: 20 }, (_, at) => h.acquire(`task ${at}`)));
    const lock = lockRow(h, 'locked');
    await h.clock.advance(30_000);
    expect(locked.lost).toEqual([{ cause: 'deadline', atMs: 13_500 }]);
    expect(others.every((other) => other.held.isHeld() && other.lost.length === 0)).toBe(true);
    expect(Math.max(...lock.singles)).toBe(200);
    await h.heartbeat.close();
  });

  test('is renewed singly soon after it is free, without waiting for the next beat', async () => {
    const h = createHarness();
    await h.heartbeat.start();
    const locked = await h.acquire('locked');
    const lock = lockRow(h, 'locked');
    await h.clock.advance(6_000);
    lock.unlock();
    await h.clock.advance(1_300);
    expect(h.beats).toHaveLength(1);
    expect(locked.held.remainingMs()).toBeGreaterThan(12_000);
    await h.heartbeat.close();
  });

  test('is waited for at most a third of what remains', async () => {
    const h = createHarness();
    await h.acquire('locked');
    const lock = lockRow(h, 'locked');
    await h.clock.advance(13_200);
    void h.heartbeat.runOnce();
    await h.clock.advance(10);
    expect(lock.singles).toEqual([100]);
    await h.heartbeat.close();
  });
});

describe('a blackout', () => {
  test.each([
    ['refuses connections', down],
    ['says nothing', silent],
  ])('shorter than a live turn survives loses nothing when the database %s', async (_name, begin) => {
    const h = createHarness();
    await h.heartbeat.start();
    const lease = await h.acquire('a');
    await h.clock.advance(4_999);
    begin(h);
    await h.clock.advance(survivableBlackoutMs(h.options) - 200);
    up(h);
    await h.clock.advance(60_000);
    expect(lease.lost).toEqual([]);
    expect(await h.rowRemainingMs(lease.key)).toBeGreaterThan(9_000);
    await h.heartbeat.close();
  });

  test('longer than the trust loses every lease at its deadline', async () => {
    const h = createHarness();
    await h.heartbeat.start();
    const first = await h.acquire('first');
    await h.clock.advance(2_000);
    down(h);
    await h.clock.advance(20_000);
    expect(first.lost).toEqual([{ cause: 'deadline', atMs: 13_500 }]);
    await h.heartbeat.close();
  });

  test('is asked about with growing pauses and told in a few lines', async () => {
    const h = createHarness();
    await h.heartbeat.start();
    await h.acquire('a');
    down(h);
    await h.clock.advance(13_400);
    expect(h.beats.length).toBeGreaterThan(5);
    expect(h.beats.length).toBeLessThan(20);
    expect(h.logged.filter((line) => line.message.includes('heartbeat failed')).length).toBeLessThan(6);
    up(h);
    await h.clock.advance(99);
    expect(h.logged.map((line) => line.message)).toContain('heartbeat works again');
    await h.heartbeat.close();
  });

  test('of the look-up alone keeps a lease unknown, not lost', async () => {
    const h = createHarness();
    const lease = await h.acquire('a');
    const lock = lockRow(h, 'a');
    h.fault.readLeases = async () => {
      throw new Error('connection reset');
    };
    expect(await h.heartbeat.runOnce()).toMatchObject({ unknown: 1, lost: 0 });
    lock.unlock();
    await h.clock.advance(500);
    expect(lease.held.remainingMs()).toBeGreaterThan(13_000);
    await h.heartbeat.close();
  });

  test('ignores an answer that comes after the limit', async () => {
    const h = createHarness();
    const lease = await h.acquire('a');
    const answer = deferred<readonly Renewed[]>();
    h.fault.beat = () => answer.promise;
    const beat = h.heartbeat.runOnce();
    await h.clock.advance(3_000);
    expect(await beat).toMatchObject({ failed: true, unknown: 1 });
    answer.resolve([]);
    await h.clock.flush();
    expect(lease.lost).toEqual([]);
    expect(lease.held.remainingMs()).toBe(10_500);
    await h.heartbeat.close();
  });
});

describe('a beat in flight', () => {
  test('says nothing about a lease that was held or ended meanwhile', async () => {
    const h = createHarness();
    const ended = await h.acquire('ended');
    await h.acquire('stays');
    const go = deferred<void>();
    h.fault.beat = async (beat) => {
      await go.promise;
      return h.db.leases.beat(beat);
    };
    const beat = h.heartbeat.runOnce();
    await h.clock.flush();
    const late = await h.acquire('late');
    ended.held.end();
    await h.db.leases.release({ taskId: 'ended', epoch: 1, holder: 'replica-a' });
    go.resolve();
    expect(await beat).toMatchObject({ leases: 2, renewed: 1, unknown: 0, lost: 0 });
    expect(ended.lost).toEqual([]);
    expect(late.held.isHeld()).toBe(true);
    await h.heartbeat.close();
  });

  test('says nothing about a lease whose ending commit was in flight, and the row is asked for after it', async () => {
    const h = createHarness();
    const lease = await h.acquire('a');
    lease.held.ending(true);
    await h.db.leases.release({ taskId: 'a', epoch: 1, holder: 'replica-a' });
    expect(await h.heartbeat.runOnce()).toMatchObject({ unknown: 1, lost: 0 });
    await h.clock.advance(2_000);
    expect(lease.lost).toEqual([]);
    lease.held.ending(false);
    await h.clock.advance(100);
    expect(lease.lost).toMatchObject([{ cause: 'gone' }]);
    await h.heartbeat.close();
  });

  test('overlooks a missing row even when the ending commit was over before the answer', async () => {
    const h = createHarness();
    const lease = await h.acquire('a');
    const rows = deferred<[]>();
    h.fault.beat = async () => [];
    h.fault.readLeases = () => rows.promise;
    const beat = h.heartbeat.runOnce();
    await h.clock.flush();
    lease.held.ending(true);
    lease.held.ending(false);
    rows.resolve([]);
    expect(await beat).toMatchObject({ unknown: 1, lost: 0 });
    lease.held.end();
    await h.clock.advance(20_000);
    expect(lease.lost).toEqual([]);
    await h.heartbeat.close();
  });

  test('still loses a lease at the deadline while its ending commit hangs', async () => {
    const h = createHarness();
    await h.heartbeat.start();
    const lease = await h.acquire('a');
    lease.held.ending(true);
    await h.db.leases.release({ taskId: 'a', epoch: 1, holder: 'replica-a' });
    await h.clock.advance(13_500);
    expect(lease.lost).toMatchObject([{ cause: 'deadline', atMs: 13_500 }]);
    await h.heartbeat.close();
  });
});

describe('renewNow', () => {
  test('renews, and says unknown for a locked row and lost for a missing one', async () => {
    const h = createHarness();
    const lease = await h.acquire('a');
    await h.clock.advance(4_000);
    expect(await lease.held.renewNow()).toBe('renewed');
    expect(lease.held.remainingMs()).toBe(13_500);
    lockRow(h, 'a');
    const locked = lease.held.renewNow();
    await h.clock.advance(200);
    expect(await locked).toBe('unknown');
    up(h);
    await h.db.leases.release({ taskId: 'a', epoch: 1, holder: 'replica-a' });
    expect(await lease.held.renewNow()).toBe('lost');
    expect(lease.lost).toMatchObject([{ cause: 'gone' }]);
    expect(await lease.held.renewNow()).toBe('lost');
    await h.heartbeat.close();
  });

  test('says unknown when the database does not answer in time, and lost when that takes until the deadline', async () => {
    const h = createHarness();
    const lease = await h.acquire('a');
    silent(h);
    const first = lease.held.renewNow();
    await h.clock.advance(3_000);
    expect(await first).toBe('unknown');
    await h.clock.advance(9_000);
    const second = lease.held.renewNow();
    await h.clock.advance(3_000);
    expect(await second).toBe('lost');
    await h.heartbeat.close();
  });
});

describe('a single renewal', () => {
  test('that is answered after the old deadline is a loss, though it says renewed', async () => {
    const h = createHarness();
    const lease = await h.acquire('a');
    await h.clock.advance(12_000);
    const answer = deferred<Renewed | null>();
    h.fault.beatOne = () => answer.promise;
    const renewal = lease.held.renewNow();
    await h.clock.flush();
    h.clock.stall(1_600);
    answer.resolve({ taskId: 'a', epoch: 1, cancelAgeMs: null });
    expect(await renewal).toBe('lost');
    expect(lease.lost).toEqual([{ cause: 'deadline', atMs: 13_600 }]);
    await h.heartbeat.close();
  });
});

describe('release', () => {
  test('deletes the row and stops renewing', async () => {
    const h = createHarness();
    await h.heartbeat.start();
    const lease = await h.acquire('a');
    await lease.held.release();
    expect(await h.rowRemainingMs(lease.key)).toBeNull();
    expect(lease.held.isHeld()).toBe(false);
    expect(lease.held.remainingMs()).toBe(0);
    await h.clock.advance(20_000);
    expect(h.beats).toEqual([]);
    expect(lease.lost).toEqual([]);
    await h.heartbeat.close();
  });

  test('is tried again until the database answers', async () => {
    const h = createHarness();
    const lease = await h.acquire('a');
    down(h);
    const release = lease.held.release();
    await h.clock.advance(4_000);
    up(h);
    await h.clock.advance(1_000);
    await release;
    expect(await h.rowRemainingMs(lease.key)).toBeNull();
    await h.heartbeat.close();
  });

  test('leaves the row to the sweeper after the deadline, without an error', async () => {
    const h = createHarness();
    const lease = await h.acquire('a');
    down(h);
    const release = lease.held.release();
    await h.clock.advance(14_000);
    await release;
    up(h);
    await h.clock.advance(500);
    expect(await h.rowRemainingMs(lease.key)).toBe(500);
    expect(h.logged.map((line) => line.message)).toContain('lease not released, it is left to the sweeper');
    await h.heartbeat.close();
  });

  test('of a marked lease leaves it held, renewed and watched', async () => {
    const h = createHarness();
    await h.heartbeat.start();
    const lease = await h.acquire('a');
    await h.db.leases.markCancel(lease.key);
    expect(await lease.held.release()).toBe('cancel_requested');
    expect(lease.held.isHeld()).toBe(true);
    await h.clock.advance(20_000);
    expect(await h.rowRemainingMs(lease.key)).toBeGreaterThan(0);
    await h.db.leases.expireNow('a');
    await h.db.journal.sweep({ limit: 1, sweeper: 'b', statusTimestamp: '', text: 'lost', taskId: 'a' });
    await h.clock.advance(5_000);
    expect(lease.lost).toMatchObject([{ cause: 'gone' }]);
    await h.heartbeat.close();
  });

  test('of a marked lease that was ended meanwhile keeps nothing', async () => {
    const h = createHarness();
    await h.heartbeat.start();
    const lease = await h.acquire('a');
    await h.db.leases.markCancel(lease.key);
    const release = lease.held.release();
    lease.held.end();
    expect(await release).toBe('cancel_requested');
    expect(lease.held.isHeld()).toBe(false);
    await h.clock.advance(20_000);
    expect(h.beats).toEqual([]);
    expect(lease.lost).toEqual([]);
    await h.heartbeat.close();
  });

  test('of a marked lease whose answer comes after the deadline is a loss', async () => {
    const h = createHarness();
    const lease = await h.acquire('a');
    await h.db.leases.markCancel(lease.key);
    await h.clock.advance(13_000);
    const release = lease.held.release();
    h.clock.stall(600);
    await release;
    expect(lease.held.isHeld()).toBe(false);
    await h.clock.advance(1);
    expect(lease.lost).toMatchObject([{ cause: 'deadline' }]);
    await h.heartbeat.close();
  });

  test('does nothing for a lease that is lost or ended', async () => {
    const h = createHarness();
    const ended = await h.acquire('ended');
    const lost = await h.acquire('lost');
    ended.held.end();
    await ended.held.release();
    await h.clock.advance(13_500);
    await lost.held.release();
    expect(lost.lost).toHaveLength(1);
    expect(await h.rowRemainingMs(ended.key)).toBe(1_500);
    expect(await h.rowRemainingMs(lost.key)).toBe(1_500);
    await h.heartbeat.close();
  });
});
