import type { CommitRefusal, EventRow, LeaseKey, NewEvent, Scope, StateName } from '@a2a-cluster/core';
import type {
  CancelWrite,
  CreateTask,
  EndedLeaseless,
  LeaselessBatch,
  LogHead,
  OpenOutcome,
  OpenTurn,
  SweepBatch,
  SweepOutcome,
  TaskMove,
} from '@a2a-cluster/db';

/** What stands in the log and was not there before: told once, after the commit, by whoever committed. */
export interface CommittedEvents {
  readonly taskId: string;
  readonly scope: Scope;
  /** In order of seq, without a gap. */
  readonly rows: readonly EventRow[];
  /** The task's head after the last of them. */
  readonly head: LogHead;
}

/** Hears of every commit of this replica: the event stream and push. Must not throw and must not wait. */
export type CommitListener = (committed: CommittedEvents) => void;

/** The right to write under a held lease. */
export interface LeaseAuthority extends LeaseKey {
  readonly holder: string;
  /** Fires when the lease is lost by the local deadline or by anyone's word; a write then gives up waiting. */
  readonly lost: AbortSignal;
  /** Beats this one lease now (protocol 3.7, `retry`). */
  renewNow(): Promise<'renewed' | 'lost' | 'unknown'>;
}

/** A new task's first events. */
export interface CreateRequest extends CreateTask {
  /** Fires when the lease that the write would bring could no longer be trusted. */
  readonly lost: AbortSignal;
}

/** Outcome of {@link Journal.create}. */
export type CreateResult =
  | {
      readonly ok: true;
      readonly version: number;
      /** Monotonic time before the earliest attempt that may have been the one that landed: the lease's trust starts here. */
      readonly sentAtMs: number;
    }
  | { readonly ok: false; readonly refusal: 'lease_lost' | 'conflict' };

/** More events of a turn. */
export interface CommitRequest extends TaskMove {
  readonly authority: LeaseAuthority;
  readonly scope: Scope;
  readonly expectedVersion: number;
  /** The state before the batch: what the head shows when the batch leaves it. */
  readonly currentState: StateName;
  readonly events: readonly NewEvent[];
}

/** Outcome of {@link Journal.commit}. */
export type CommitResult =
  | {
      readonly ok: true;
      readonly version: number;
      /** Message rows found before ours (protocol 3.7, `conflict`); their writer has told of them. */
      readonly adopted: readonly EventRow[];
    }
  | { readonly ok: false; readonly refusal: CommitRefusal };

/** Outcome of {@link Journal.cancel}. */
export type CancelResult = { readonly ok: true; readonly version: number } | { readonly ok: false };

/** A follow-up, and what the opening does besides: see {@link OpenTurn}. */
export type OpenRequest = OpenTurn;

/** Outcome of {@link Journal.openTurn}: as the statement's, and when the lease's trust starts. */
export type OpenResult =
  | (OpenOutcome & { readonly ok: false })
  | { readonly ok: true; readonly epoch: number; readonly sentAtMs: number };

/**
 * The one place that changes a task (protocol 3). A refusal is a value and has written nothing; what was written is
 * told to the {@link CommitListener} exactly once, after the commit.
 *
 * Ambiguous answers are resolved inside: a write that may have landed is looked for by its write ids before it is
 * sent again, and every refusal of a second attempt is confirmed by another look (protocol 3.6).
 *
 * @throws ClusterError `STORE_FAULT` or `DATABASE_UNREACHABLE` when the database kept refusing for a whole TTL, or,
 * for writes without a lease, kept being unreachable for a few attempts.
 */
export interface Journal {
  create(request: CreateRequest): Promise<CreateResult>;
  commit(request: CommitRequest): Promise<CommitResult>;
  /**
   * Admits a follow-up. With `takeOver` a turn found abandoned is ended first, as the sweeper would, and the answer is
   * then `terminal`; without it the answer is `abandoned` or `expired`, and nothing is claimed.
   */
  openTurn(request: OpenRequest): Promise<OpenResult>;
  cancel(request: CancelWrite): Promise<CancelResult>;
  /** Ends expired turns; see `SweepBatch`. */
  sweep(batch: SweepBatch): Promise<SweepOutcome>;
  /** Drops expired leases that have no task. */
  sweepOrphans(limit: number): Promise<readonly string[]>;
  /** Ends tasks that were left running without a lease; see `LeaselessBatch`. */
  sweepLeaseless(batch: LeaselessBatch): Promise<readonly EndedLeaseless[]>;
}
