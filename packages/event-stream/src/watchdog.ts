import { ClusterError, type Clock, type Timer } from '@a2a-cluster/core';
import type { LogTail } from './tail.js';

/** What a {@link Watchdog} is made of. */
export interface WatchdogParts {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly tails: ReadonlySet<LogTail>;
  lastReadMs(): number | null;
  /** Asks for a read, to learn whether the log can be read after all. */
  requestRead(): void;
}

const LONGEST_GRACE_MS = 1_000;

/**
 * Ends tails that have had no successful read for the time limit, so that nothing hangs while the database is away
 * or a statement never answers. One timer for all tails.
 *
 * A process that was stopped finds the limit passed without having tried: so a tail is ended only if it is still
 * overdue after a short grace in which a read was asked for.
 */
export class Watchdog {
  readonly #parts: WatchdogParts;
  #timer: Timer | null = null;
  #warned = false;

  constructor(parts: WatchdogParts) {
    this.#parts = parts;
  }

  /** Call when a tail was added. */
  arm(): void {
    this.#timer ??= this.#parts.clock.setTimer(this.#parts.timeoutMs, () => this.#check());
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  #check(): void {
    this.#timer = null;
    const { clock, timeoutMs, tails } = this.#parts;
    const nowMs = clock.monotonicMs();
    let nextMs = Infinity;
    let overdue = false;
    for (const tail of [...tails]) {
      const waitedMs = nowMs - tail.waitingSinceMs(this.#parts.lastReadMs());
      if (waitedMs < timeoutMs) nextMs = Math.min(nextMs, timeoutMs - waitedMs);
      else if (this.#warned) tail.fail(timedOut(waitedMs));
      else overdue = true;
    }
    this.#warned = overdue;
    if (overdue) {
      this.#parts.requestRead();
      nextMs = Math.min(nextMs, timeoutMs / 10, LONGEST_GRACE_MS);
    }
    if (tails.size > 0) this.#timer = clock.setTimer(Math.min(nextMs, timeoutMs), () => this.#check());
  }
}

function timedOut(waitedMs: number): ClusterError {
  return new ClusterError('STORE_FAULT', `the log could not be read for ${Math.round(waitedMs)} ms`, {
    details: { retriable: true, reason: 'read_timeout' },
  });
}
