import { describe, expect, test } from '@jest/globals';
import { createSystemClock, sleep, type Clock } from '../src/index.js';

/** A clock whose timers fire only when the test says so. */
function createManualClock(): { clock: Clock; fire(): void; readonly set: number[]; readonly open: number } {
  const timers = new Map<number, () => void>();
  const set: number[] = [];
  return {
    set,
    get open() {
      return timers.size;
    },
    fire() {
      for (const [id, action] of [...timers]) {
        timers.delete(id);
        action();
      }
    },
    clock: {
      monotonicMs: () => 0,
      wallIso: () => '2026-01-01T00:00:00.000Z',
      setTimer(delayMs, action) {
        const id = set.push(delayMs);
        timers.set(id, action);
        return { cancel: () => void timers.delete(id) };
      },
    },
  };
}

describe('the system clock', () => {
  const clock = createSystemClock();

  test('never runs backwards, and tells the wall time as ISO 8601 in UTC', () => {
    const reads = Array.from({ length: 1_000 }, () => clock.monotonicMs());
    expect(reads).toEqual([...reads].sort((a, b) => a - b));
    expect(clock.wallIso()).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  test('fires a timer once, also with a delay below zero', async () => {
    let fired = 0;
    await new Promise<void>((resolve) => {
      clock.setTimer(-5, () => {
        fired += 1;
        resolve();
      });
    });
    await new Promise<void>((resolve) => void clock.setTimer(5, resolve));
    expect(fired).toBe(1);
  });

  test('does not fire a cancelled timer, nor a very long one at once', async () => {
    const fired: string[] = [];
    const cancelled = clock.setTimer(0, () => fired.push('cancelled'));
    const long = clock.setTimer(Number.MAX_SAFE_INTEGER, () => fired.push('long'));
    cancelled.cancel();
    cancelled.cancel();
    await new Promise<void>((resolve) => void clock.setTimer(10, resolve));
    long.cancel();
    expect(fired).toEqual([]);
  });
});

describe('a sleep', () => {
  test('ends when its timer fires', async () => {
    const manual = createManualClock();
    let done = false;
    const sleeping = sleep({ clock: manual.clock, delayMs: 40 }).then(() => (done = true));
    await Promise.resolve();
    expect([manual.set, done]).toEqual([[40], false]);
    manual.fire();
    await sleeping;
  });

  test('ends early when the signal aborts, and leaves no timer', async () => {
    const manual = createManualClock();
    const stop = new AbortController();
    const sleeping = sleep({ clock: manual.clock, delayMs: 1e9, signal: stop.signal });
    expect(manual.open).toBe(1);
    stop.abort(new Error('not seen'));
    await sleeping;
    expect(manual.open).toBe(0);
  });

  test('with a signal that has aborted ends at once and sets no timer', async () => {
    const manual = createManualClock();
    await sleep({ clock: manual.clock, delayMs: 1e9, signal: AbortSignal.abort() });
    expect(manual.set).toEqual([]);
  });

  test('leaves no listener at the signal', async () => {
    const manual = createManualClock();
    let listeners = 0;
    const signal = {
      aborted: false,
      addEventListener: () => void (listeners += 1),
      removeEventListener: () => void (listeners -= 1),
    } as unknown as AbortSignal;
    const sleeping = sleep({ clock: manual.clock, delayMs: 1, signal });
    expect(listeners).toBe(1);
    manual.fire();
    await sleeping;
    expect(listeners).toBe(0);
  });
});
