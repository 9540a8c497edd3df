import type { Clock, Service, Timer } from '@a2a-cluster/core';

/** What a {@link LoopWatch} is made of. */
export interface LoopWatchOptions {
  readonly clock: Clock;
  /** How long a delay is remembered, at least; at most twice as long. */
  readonly windowMs: number;
}

/** How late this process is with what it has to do. */
export interface LoopWatch extends Service {
  /**
   * The longest time in milliseconds for which the event loop ran nothing, within the last window, by the monotonic
   * clock: blocked by code, or the whole process stopped. 0 before `start`.
   */
  worstMs(): number;
}

/** From one look to the next: what is shorter than this is no matter for leases of seconds. */
const STEP_MS = 250;

/**
 * Watches by a timer that should come at a fixed interval. (The histogram of `perf_hooks` would tell finer delays, but
 * forgets none until it is reset, and it cannot be driven by a test's clock.)
 */
export function createLoopWatch({ clock, windowMs }: LoopWatchOptions): LoopWatch {
  let timer: Timer | null = null;
  let lastMs = 0;
  let windowSinceMs = 0;
  let worst = { now: 0, before: 0 };

  const lateMs = (nowMs: number): number => Math.max(0, nowMs - lastMs - STEP_MS);
  const look = (): void => {
    const nowMs = clock.monotonicMs();
    worst = { ...worst, now: Math.max(worst.now, lateMs(nowMs)) };
    lastMs = nowMs;
    if (nowMs - windowSinceMs >= windowMs) {
      windowSinceMs = nowMs;
      worst = { now: 0, before: worst.now };
    }
    timer = clock.setTimer(STEP_MS, look);
  };
  return {
    async start() {
      if (timer !== null) return;
      lastMs = windowSinceMs = clock.monotonicMs();
      timer = clock.setTimer(STEP_MS, look);
    },
    async close() {
      timer?.cancel();
      timer = null;
    },
    // After a pause somebody may ask before the timer has had its turn.
    worstMs: () => (timer === null ? 0 : Math.max(worst.now, worst.before, lateMs(clock.monotonicMs()))),
  };
}
