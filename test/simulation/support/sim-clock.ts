import type { Clock } from '@a2a-cluster/core';
import type { Owner, Scheduler } from './scheduler.js';

/** 2026-01-01T00:00:00Z, where virtual time starts. */
const START_MS = 1_767_225_600_000;

/** How a replica's clocks differ from virtual time. */
export interface Skew {
  /** Of the wall clock: decides nothing, so it may be anything. */
  readonly wallMs: number;
  /** How fast the monotonic clock goes; 1 is right. */
  readonly rate: number;
  /** What the monotonic clock says when virtual time is 0. */
  readonly originMs: number;
}

/** The clock of one replica: its timers are steps of the scheduler, so they wait while it is paused. */
export function createReplicaClock(options: {
  readonly scheduler: Scheduler;
  readonly owner: Owner;
  readonly skew: Skew;
}): Clock {
  const { scheduler, owner, skew } = options;
  return {
    monotonicMs: () => skew.originMs + scheduler.nowMs * skew.rate,
    wallIso: () => new Date(START_MS + scheduler.nowMs + skew.wallMs).toISOString(),
    setTimer(delayMs, action) {
      // Node's timers take whole milliseconds, at least one.
      const delay = Math.max(1, delayMs / skew.rate);
      return { cancel: scheduler.after(delay, { owner, timer: true, what: () => 'timer', run: action }) };
    },
  };
}

/** The clock of the database: apart from every replica's, and it may step. */
export interface DatabaseClock extends Clock {
  step(ms: number): void;
  /** Virtual times of the steps so far. */
  readonly stepsAtMs: readonly number[];
}

/** The database's clock; it sets no timers. */
export function createDatabaseClock(scheduler: Scheduler): DatabaseClock {
  let steppedMs = 0;
  const stepsAtMs: number[] = [];
  return {
    monotonicMs: () => scheduler.nowMs + steppedMs,
    wallIso: () => new Date(START_MS + scheduler.nowMs + steppedMs).toISOString(),
    setTimer: () => {
      throw new Error('the database sets no timers');
    },
    stepsAtMs,
    step(ms) {
      steppedMs += ms;
      stepsAtMs.push(scheduler.nowMs);
    },
  };
}
