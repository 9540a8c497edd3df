import type { Scope } from './task-key.js';

/**
 * The identity of a held lease. The replica's name alone is never enough: a restarted or paused replica may meet a
 * later turn of the same task, so every write names the epoch too (protocol 3.2).
 */
export interface LeaseKey {
  readonly taskId: string;
  /** The seq of the event that opened the turn; grows with every acquisition. */
  readonly epoch: number;
}

/** A lease row as a reader sees it. Ages and rests are by the database's clock, at the time of the read. */
export interface LeaseView extends LeaseKey {
  readonly holder: string;
  /** The turn was opened by a follow-up and has written no status yet (protocol 4). */
  readonly pending: boolean;
  /** Milliseconds until the lease expires; 0 or less means it has expired. */
  readonly remainingMs: number;
  /** Milliseconds since somebody asked to cancel, or null. */
  readonly cancelAgeMs: number | null;
}

/** A lease row with its owner, for operators. */
export interface LeaseListing extends LeaseView, Scope {
  /** Milliseconds since the turn was opened. */
  readonly ageMs: number;
}
