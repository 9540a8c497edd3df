import { SWEEP_JITTER } from '@a2a-cluster/lease-store';
import type { BadRows } from './bad-rows.js';
import type { AbandonedTaskSweeperOptions, SweepResult } from './sweeper.js';

/** The shortest wait for a row that was locked. Shorter: a busy loop while somebody holds it. */
const LOCKED_WAIT_MS = 50;

/** The longest wait for a row that stays locked. Longer: its turn is ended late. */
const LONGEST_LOCKED_WAIT_MS = 200;

/** After an expiry, so that a timer that fires early does not find the lease alive. */
const AFTER_EXPIRY_MS = 5;

/** Spreads the sweepers that wake for the same lease. */
const EXPIRY_JITTER_MS = 45;

/** The shortest wait of all. */
const SHORTEST_WAIT_MS = 20;

/** The shortest wait for rows that failed. Shorter: many of them make a busy loop of failing statements. */
const BAD_ROWS_WAIT_MS = 500;

/** The first wait when the database cannot be asked, doubled from then on. */
const OUTAGE_WAIT_MS = 100;

/** The longest one. Longer: dead turns are ended late after an outage (TTL + 1 s from when it can be written). */
const LONGEST_OUTAGE_WAIT_MS = 400;

/** When to look again. */
export class WakeUp {
  readonly #options: AbandonedTaskSweeperOptions;
  readonly #bad: BadRows;
  #lockedInARow = 0;
  /** What the pass has read before it did anything; undefined: to be read. */
  #expiryMs: number | null | undefined = undefined;

  constructor(options: AbandonedTaskSweeperOptions, bad: BadRows) {
    this.#options = options;
    this.#bad = bad;
  }

  /** When the earliest lease expires, as the pass that is under way has read it: null none, not above 0 has expired. */
  noteExpiry(expiryMs: number | null): void {
    const due = expiryMs !== null && expiryMs <= 0;
    this.#expiryMs = due ? undefined : expiryMs;
  }

  /** After a pass: at the earliest expiry, soon when something was locked, at the latest after the interval. */
  async afterPass(result: SweepResult): Promise<number> {
    const { clockWatch } = this.#options;
    const latestMs = Math.min(this.#jittered(), clockWatch.longestPauseMs());
    if (result.quiet) return Math.min(latestMs, clockWatch.quietRemainingMs() + AFTER_EXPIRY_MS);
    this.#lockedInARow = result.skipped > 0 ? this.#lockedInARow + 1 : 0;
    if (result.skipped > 0)
      return Math.min(LONGEST_LOCKED_WAIT_MS, LOCKED_WAIT_MS * 2 ** Math.min(this.#lockedInARow - 1, 10));
    const expiryMs = await this.#nextExpiryMs();
    const badMs = Math.max(BAD_ROWS_WAIT_MS, this.#bad.nextDueMs() ?? Infinity);
    return Math.max(SHORTEST_WAIT_MS, Math.min(latestMs, expiryMs ?? Infinity, badMs));
  }

  /** After a pass that failed; `failures` in a row. */
  afterOutage(failures: number): number {
    const waitMs = Math.min(LONGEST_OUTAGE_WAIT_MS, OUTAGE_WAIT_MS * 2 ** Math.min(failures - 1, 10));
    return waitMs * (1 + SWEEP_JITTER * (2 * this.#random() - 1));
  }

  #jittered(): number {
    return this.#options.options.sweepIntervalMs * (1 + SWEEP_JITTER * (2 * this.#random() - 1));
  }

  async #nextExpiryMs(): Promise<number | null> {
    const { leases } = this.#options;
    const read = this.#expiryMs;
    this.#expiryMs = undefined;
    const next = (): Promise<number | null> =>
      this.#bad.size === 0 ? leases.nextExpiry() : this.#nextGoodExpiryMs();
    // An idle pass has read it a moment ago. With bad rows about there is always one that has expired.
    const remainingMs = read === undefined ? await next() : read;
    return remainingMs === null ? null : remainingMs + AFTER_EXPIRY_MS + this.#random() * EXPIRY_JITTER_MS;
  }

  /** The rows that are backed off would hide the next one. */
  async #nextGoodExpiryMs(): Promise<number | null> {
    const listed = await this.#options.leases.listLeases(this.#bad.size + 1);
    return listed.find((lease) => !this.#bad.has(lease.taskId))?.remainingMs ?? null;
  }

  #random(): number {
    return (this.#options.random ?? Math.random)();
  }
}
