import type { Scope, StateName } from '@a2a-cluster/core';

/** A step of a walk over all tasks in the order of their ids. */
export interface RetentionStep {
  /** Resume after this id; '' begins. */
  readonly after: string;
  /** Most rows that are looked at, whatever is found among them. */
  readonly limit: number;
  /** Tasks that ended longer ago than this, by the database's clock. */
  readonly endedForMs: number;
  /** `events`: tasks that still have a log. `task`: all of them. */
  readonly due: 'events' | 'task';
}

/** An ended task that is due. */
export interface RetentionTask {
  readonly taskId: string;
  readonly version: number;
  /** Of which version the stored snapshot is; 0: there is none. */
  readonly snapshotVersion: number;
}

/** What a step has seen. */
export interface RetentionFound {
  /** None with a lease or with a webhook that still waits. */
  readonly tasks: readonly RetentionTask[];
  /** The last id looked at, or null at the end of the walk. */
  readonly next: string | null;
}

/** An ended task whose document holds everything it ever said. */
export interface CompactTask {
  readonly taskId: string;
  /** The version that the snapshot is of; nothing happens when the task has another. */
  readonly version: number;
  /** The document, or null where the stored one is of this version already. Else nothing happens. */
  readonly snapshot: string | null;
}

/** A compaction. */
export interface Compaction {
  readonly tasks: readonly CompactTask[];
  /** Judged again under the lock. */
  readonly endedForMs: number;
  /** Most events that are deleted, so that one statement holds no lock for long. At least one. */
  readonly maxEvents: number;
}

/** What a compaction has done. */
export interface Compacted {
  /** Events that were deleted. As many as `maxEvents`: there may be more, so call again. */
  readonly events: number;
  /** The tasks that were taken: the others were locked, or are not due after all. */
  readonly taskIds: readonly string[];
}

/** A purge of these tasks. */
export interface Purge {
  readonly taskIds: readonly string[];
  /** Judged again under the lock. */
  readonly endedForMs: number;
  /** Most events that are deleted. At least one. */
  readonly maxEvents: number;
}

/** A task that was deleted. */
export interface PurgedTask {
  readonly taskId: string;
  readonly scope: Scope;
  readonly state: StateName;
}

/** What a purge has done. */
export interface Purged {
  readonly purged: readonly PurgedTask[];
  /** Events that were deleted. As many as `maxEvents`: there may be more, and their tasks are still there. */
  readonly events: number;
}

/**
 * The statements of retention (protocol 11). They touch ended tasks only, judged again under the lock of the task's row,
 * and pass over rows that are locked. Never touched: a task with a lease, and one whose webhook still waits for an event
 * or whose dead letter an operator has asked for.
 *
 * The mark of a pruned log: a snapshot whose version is the task's, and events missing below it. Events go in the order
 * of their seq, so a log that is half deleted has lost its beginning and nothing between.
 */
export interface RetentionStatements {
  /** Looks at the next rows of the walk. Locks nothing, so what it gives may be out of date. */
  find(step: RetentionStep): Promise<RetentionFound>;
  /** Stores the snapshots and deletes events of these tasks, in one transaction. */
  compact(compaction: Compaction): Promise<Compacted>;
  /**
   * Deletes events of these tasks, and with the last one the task and all that belongs to it: snapshot, webhooks and
   * dead letters. One transaction.
   */
  purge(purge: Purge): Promise<Purged>;
}
