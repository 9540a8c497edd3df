import type { Clock } from '@a2a-cluster/core';

/** A clock that moves only when a test says so. */
export interface FakeClock extends Clock {
  /**
   * Lets `ms` pass. Timers fire in the order in which they are due, each at its own time, and whatever it set off
   * runs as far as it can without real I/O before the next one fires.
   */
  advance(ms: number): Promise<void>;
  /**
   * Lets `ms` pass with the process stopped (SIGSTOP, a long collection): no timer fires. The overdue ones fire at
   * the next `advance`, `advance(0)` included, all at the time it is then.
   */
  stall(ms: number): void;
  /** Lets what is ready run without time passing: promises that have settled, and what follows from them. */
  flush(): Promise<void>;
  /** How many timers are set: 0 after everything has been closed. */
  pendingTimers(): number;
}

interface PendingTimer {
  readonly atMs: number;
  readonly order: number;
  readonly action: () => void;
}

/** 2026-01-01T00:00:00Z, where the wall clock of a fake clock starts. */
const WALL_START_MS = 1_767_225_600_000;

/** A clock at 0 with no timers. Its wall clock starts at 2026-01-01 and moves with it. */
export function createFakeClock(): FakeClock {
  const timers = new Set<PendingTimer>();
  let nowMs = 0;
  let order = 0;

  const next = (untilMs: number): PendingTimer | undefined =>
    [...timers]
      .filter((timer) => timer.atMs <= untilMs)
      .sort((a, b) => a.atMs - b.atMs || a.order - b.order)[0];

  return {
    monotonicMs: () => nowMs,
    wallIso: () => new Date(WALL_START_MS + nowMs).toISOString(),
    setTimer(delayMs, action) {
      const timer = { atMs: nowMs + Math.max(0, delayMs), order: order++, action };
      timers.add(timer);
      return { cancel: () => void timers.delete(timer) };
    },
    async advance(ms) {
      const untilMs = nowMs + ms;
      await settle();
      for (let timer = next(untilMs); timer; timer = next(untilMs)) {
        timers.delete(timer);
        nowMs = Math.max(nowMs, timer.atMs);
        timer.action();
        await settle();
      }
      nowMs = Math.max(nowMs, untilMs);
    },
    stall(ms) {
      nowMs += ms;
    },
    flush: settle,
    pendingTimers: () => timers.size,
  };
}

/** A turn of the event loop: every promise that can settle without I/O has settled after it. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
