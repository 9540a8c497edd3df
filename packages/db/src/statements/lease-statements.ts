import type { LeaseKey, LeaseListing } from '@a2a-cluster/core';
import type { ReplicaReport } from './replica-statements.js';

/** One heartbeat for every lease of a replica. */
export interface Beat {
  readonly holder: string;
  readonly ttlMs: number;
  /** Exactly these; never "all of this holder". */
  readonly leases: readonly LeaseKey[];
  /**
   * What the replica says of itself, to be written along where that costs no further statement: on PostgreSQL. A row
   * that is gone or locked is left as it is; the leases know nothing of it. A table that cannot be used fails the beat:
   * send the next one without.
   */
  readonly report?: ReplicaReport;
}

/** A lease that a beat renewed. */
export interface Renewed extends LeaseKey {
  /** Milliseconds since a cancel was asked for, by the database's clock, or null. */
  readonly cancelAgeMs: number | null;
}

/**
 * What a release did. `released` the row is deleted · `gone` it was no longer there · `cancel_requested` it is marked
 * and still there: deleted, it would take the mark with it.
 */
export type ReleaseOutcome = 'released' | 'gone' | 'cancel_requested';

/** What one reading of the database's clock says (protocol 2). */
export interface ServerClock {
  /** The server's time in milliseconds since 1970, after any lock or queueing. */
  readonly nowMs: number;
  /** Changes when the answering server, its timeline or its recovery state is another one. */
  readonly identity: string;
}

/**
 * The statements that touch leases alone. They run on connections of their own, apart from request traffic, with
 * time limits on both sides.
 */
export interface LeaseStatements {
  /**
   * Renews the listed leases to now + ttl, whatever `expires_at` says, rows locked by others skipped (protocol 5).
   * A lease in the list and not in the answer is unknown, not lost: {@link LeaseStatements.readLeases} tells.
   */
  beat(beat: Beat): Promise<readonly Renewed[]>;
  /** Renews one, waiting at most `waitMs` for its row lock. Null: not renewed (locked, gone or another's). */
  beatOne(beat: {
    readonly holder: string;
    readonly ttlMs: number;
    readonly lease: LeaseKey;
    readonly waitMs: number;
  }): Promise<Renewed | null>;
  /** The rows of these tasks, without locks: who holds them now. */
  readLeases(
    taskIds: readonly string[],
  ): Promise<readonly { readonly taskId: string; readonly holder: string; readonly epoch: number }[]>;
  /** Deletes exactly (task, holder, epoch), unless it carries a cancel mark: then it stays, and the holder cancels. */
  release(lease: LeaseKey & { readonly holder: string }): Promise<ReleaseOutcome>;
  /** Marks a cancel on exactly (task, epoch), keeping an earlier mark's time; gives its age, or null when no such row. */
  markCancel(lease: LeaseKey): Promise<{ readonly cancelAgeMs: number } | null>;
  /** Lets a lease expire now: an operator's release. False when there is none. */
  expireNow(taskId: string): Promise<boolean>;
  /** Milliseconds until the earliest lease expires (negative: it has), or null when there is no lease. */
  nextExpiry(): Promise<number | null>;
  /** Cuts `expires_at` to now + ttl where it lies beyond now + 2 x ttl; gives how many. */
  clampFuture(ttlMs: number): Promise<number>;
  /** Reads the database's clock and who answered. */
  readClock(): Promise<ServerClock>;
  /** Every lease, the earliest to expire first, for operators. */
  listLeases(limit: number): Promise<readonly LeaseListing[]>;
}
