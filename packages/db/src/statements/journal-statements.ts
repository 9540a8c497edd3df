import type { NewEvent, OpenRefusal, Scope, StateName } from '@a2a-cluster/core';
import type { EndedLeaseless, LeaselessBatch } from './leaseless.js';

/** What a batch of events does to the task row, worked out by the writer from its projection. */
export interface TaskMove {
  /** The state after the batch, or null when the batch leaves it. */
  readonly state: StateName | null;
  /** The status timestamp after the batch, or null when the batch leaves it. Never empty: lists find NULL as none. */
  readonly statusTimestamp: string | null;
  /** The last event ends the task: the lease is deleted in the same transaction. */
  readonly terminal: boolean;
  /** The batch carries a status, so the turn no longer counts as unheard (protocol 4, `pending`). */
  readonly clearsPending: boolean;
  /** The task's JSON as of the last event of the batch, or null to leave the stored snapshot. */
  readonly snapshot: string | null;
}

/** The first write of a new task. */
export interface CreateTask extends TaskMove {
  readonly taskId: string;
  readonly scope: Scope;
  readonly contextId: string;
  readonly holder: string;
  readonly ttlMs: number;
  /** Never null here. */
  readonly state: StateName;
  /** The first is of kind `task`; seqs are 1..n, the epoch is 1. At least one. */
  readonly events: readonly NewEvent[];
}

/** Outcome of {@link JournalStatements.createTask}. */
export type CreateOutcome =
  | { readonly ok: true; readonly version: number }
  /** The id exists already: an earlier attempt of the same write, or another task. Look before believing either. */
  | { readonly ok: false; readonly refusal: 'exists' };

/** A write of the turn that holds the lease. */
export interface CommitEvents extends TaskMove {
  readonly taskId: string;
  /** The version the writer last saw; seqs are `expectedVersion + 1 ..`. */
  readonly expectedVersion: number;
  readonly holder: string;
  readonly epoch: number;
  /** At least one. */
  readonly events: readonly NewEvent[];
}

/** Outcome of a fenced write. `refused` says nothing about why: {@link JournalStatements.look} does. */
export type WriteOutcome = { readonly ok: true; readonly version: number } | { readonly ok: false };

/** A follow-up that wants the task's lease. */
export interface OpenTurn {
  readonly taskId: string;
  readonly scope: Scope;
  /** The context the message names, or null when it names none. */
  readonly contextId: string | null;
  readonly holder: string;
  readonly ttlMs: number;
  /** The user message: kind `message`, with its `messageId`. */
  readonly event: NewEvent;
  /** Whether an expired lease of a parked task is taken over; only after a reading of the clock that says it may. */
  readonly takeOver: boolean;
  /** A task that has so many messages of its user takes no more. Undefined: any number. */
  readonly maxMessages?: number;
}

/** Outcome of {@link JournalStatements.openTurn}. */
export type OpenOutcome =
  /** The lease is held and the message is in the log at seq `epoch`; `pending` is set. */
  { readonly ok: true; readonly epoch: number } | ({ readonly ok: false } & OpenRefusal);

/** A cancel without a lease: after the grace, or when no live lease exists. */
export interface CancelWrite {
  readonly taskId: string;
  readonly scope: Scope;
  /** The version `look` saw; compared, so a turn opened meanwhile makes it a refusal. */
  readonly expectedVersion: number;
  /** The CANCELED status update. */
  readonly event: NewEvent;
  readonly statusTimestamp: string;
  /** The canceller. */
  readonly holder: string;
  /** The turn it ends, or the version when there was none. */
  readonly epoch: number;
}

/** Which expired leases a sweep takes. */
export interface SweepBatch {
  /** At most this many, the longest expired first. */
  readonly limit: number;
  readonly sweeper: string;
  /** ISO 8601, for the FAILED status. */
  readonly statusTimestamp: string;
  /** The sentence for people in the FAILED status. */
  readonly text: string;
  /** Only this task: an opener doing the sweeper's work, or an operator. */
  readonly taskId?: string;
  /** Tasks to pass over: rows that failed before and are backed off. */
  readonly except?: readonly string[];
}

/** A lease that a sweep took, exactly once across all sweepers. */
export interface SweptLease {
  readonly taskId: string;
  readonly scope: Scope;
  /** The dead holder. */
  readonly holder: string;
  readonly epoch: number;
  /** How long ago it had expired when the statement judged it, by the database's clock; never below 0. */
  readonly expiredForMs: number;
  /** The FAILED event, or null when only the lease was dropped. */
  readonly failed: { readonly seq: number; readonly payload: string } | null;
}

/** Outcome of {@link JournalStatements.sweep}. */
export interface SweepOutcome {
  readonly swept: readonly SweptLease[];
  /** Expired leases that were seen, taken or not: more than `swept` means some were locked, not that none is left. */
  readonly candidates: number;
}

/** The task and its lease as one statement saw them. Null: no such task (of that scope, if one was named). */
export interface Look {
  readonly scope: Scope;
  readonly contextId: string;
  readonly state: StateName;
  readonly version: number;
  readonly lease: {
    readonly holder: string;
    readonly epoch: number;
    readonly pending: boolean;
    /** By the database's clock: 0 or less has expired. */
    readonly remainingMs: number;
    readonly cancelAgeMs: number | null;
  } | null;
}

/**
 * The statements that change tasks. Each is one transaction; each refusal has written nothing.
 *
 * Guarantees, on every database: compare-and-swap on the version; the fence (holder, epoch, unexpired judged after
 * the lock is held); terminal is final; lock order task, lease, events (protocol 3). Isolation is READ COMMITTED.
 *
 * Faults are thrown as `ClusterError`: `UNKNOWN_OUTCOME` when the write may have been stored, `STORE_FAULT` or
 * `DATABASE_UNREACHABLE` when it was not. Deadlocks and lock timeouts are retried inside, a bounded number of times.
 */
export interface JournalStatements {
  createTask(create: CreateTask): Promise<CreateOutcome>;
  commit(commit: CommitEvents): Promise<WriteOutcome>;
  openTurn(open: OpenTurn): Promise<OpenOutcome>;
  cancel(cancel: CancelWrite): Promise<WriteOutcome>;
  sweep(batch: SweepBatch): Promise<SweepOutcome>;
  /** Deletes at most `limit` expired leases that have no task row; gives their task ids. */
  sweepOrphans(limit: number): Promise<readonly string[]>;
  /**
   * Ends tasks that are SUBMITTED or WORKING, have no lease, and were written to by nobody for `idleMs`; judged again
   * under the lock of the task's row, locked rows passed over. Exactly one FAILED event each, however many sweepers.
   */
  sweepLeaseless(batch: LeaselessBatch): Promise<readonly EndedLeaseless[]>;
  /** What is there now, in a statement of its own. */
  look(look: { readonly taskId: string; readonly scope?: Scope }): Promise<Look | null>;
  /** Whether (task, seq) was written with this write id: asked around retries (protocol 3.6). */
  findOwnWrite(own: {
    readonly taskId: string;
    readonly seq: number;
    readonly writeId: string;
  }): Promise<boolean>;
}
