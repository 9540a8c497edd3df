import type { Clock, LeaseKey, Logger, Service } from '@a2a-cluster/core';
import type { LeaseStatements, ReleaseOutcome } from '@a2a-cluster/db';
import type { BeatReporter } from './beat-report.js';
import type { ResolvedLeaseOptions } from './options.js';

/**
 * Why a lease counts as lost (protocol 5).
 *
 * `deadline` no renewal was answered before the holder's own deadline, whatever the row says · `gone` there is no
 * row · `taken` the row carries another holder or another epoch.
 */
export type LostCause = 'deadline' | 'gone' | 'taken';

/** A lease that was acquired and is to be kept. */
export interface HoldLease {
  readonly lease: LeaseKey;
  /** `clock.monotonicMs()` when the acquiring statement was sent: trust counts from there, not from its answer. */
  readonly sentAtMs: number;
  /**
   * Called once, when the lease is lost; never after `end`, `release` or `close`, and never inside `hold`. What it
   * throws is logged.
   */
  onLost(cause: LostCause): void;
  /** Called at most once, when a beat brings a cancel mark; `ageMs` is the mark's age by the database's clock. */
  onCancelRequested(ageMs: number): void;
}

/** A lease that the heartbeat keeps, until it is lost, released or ended. Local time only: no call here asks anyone. */
export interface HeldLease {
  readonly key: LeaseKey;
  /** Whether the holder may act: the local deadline lies ahead and nothing says that the lease is lost. */
  isHeld(): boolean;
  /** Milliseconds until the local deadline (sent + TTL - margin); 0 when lost, released or ended. */
  remainingMs(): number;
  /**
   * Loses the lease now if its local deadline has passed, `onLost` included. After a pause of the process its timer may
   * still be due while somebody else's answer says that the lease is gone: asked first, this names the true cause.
   */
  judge(): void;
  /**
   * Renews this lease now, apart from the beat (protocol 3.7, `retry`). `unknown`: no answer, or the row is ours
   * and locked. `lost` also for a lease that was released or ended.
   */
  renewNow(): Promise<'renewed' | 'lost' | 'unknown'>;
  /**
   * Stops renewing and deletes the row of exactly this (task, holder, epoch). Retried until the local deadline, then
   * left to the sweeper. `cancel_requested`: the row is marked and was left, and the lease is held and renewed again,
   * for its holder to cancel under it. Null: nothing is known. Never rejects; does nothing for a lease that is lost or
   * ended.
   */
  release(): Promise<ReleaseOutcome | null>;
  /** Stops renewing because the row is gone already, or is to be left. No loss is reported afterwards. */
  end(): void;
  /**
   * Brackets a commit that may delete the lease: while it is in flight a missing row is no loss. The local deadline
   * still counts. When the commit did delete it, call `end` before `ending(false)`, or in the same tick.
   */
  ending(active: boolean): void;
}

/** What one beat did. */
export interface BeatCounts {
  /** Leases in the statement. */
  readonly leases: number;
  readonly renewed: number;
  /** In the statement, not in the answer, and still ours as far as a second look tells: retried singly. */
  readonly unknown: number;
  readonly lost: number;
  /** The beat was not answered in time or with an error: nothing is known, and it is sent again soon. */
  readonly failed: boolean;
  readonly tookMs: number;
}

/** Keeps every lease of a replica with one statement per interval (protocol 5). */
export interface Heartbeat extends Service {
  /** Begins to keep a lease. May be called before `start`; after `close` nothing renews it and no loss is told. */
  hold(hold: HoldLease): HeldLease;
  /**
   * `lastBeatAgeMs`: since the last beat that was answered was sent, or since the first lease was acquired if none
   * was answered yet; null while nothing is held, for then there is nothing to beat for.
   */
  status(): { readonly heldCount: number; readonly lastBeatAgeMs: number | null };
  /** One beat now, unknown leases looked up. Never rejects: a failed beat is in the counts. */
  runOnce(): Promise<BeatCounts>;
}

/** What a heartbeat is made of. */
export interface HeartbeatOptions {
  readonly leases: LeaseStatements;
  /** The replica's id, fresh per boot: it must not be one that an earlier process used. */
  readonly holder: string;
  readonly options: ResolvedLeaseOptions;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called after every beat, for metrics. What it throws is logged. */
  readonly onBeat?: ((counts: BeatCounts) => void) | undefined;
  /** What beats carry along. Default: nothing. */
  readonly reporter?: BeatReporter | undefined;
}
