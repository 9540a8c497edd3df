import type { Scope, StateName } from '@a2a-cluster/core';
import type { StoredTask } from './log-statements.js';

/** A step of a walk over all tasks in the order of their ids. */
export interface RetentionStep {
  /** Resume after this id; '' begins. */
  readonly after: string;
  /** Most rows that are looked at. */
  readonly limit: number;
  /** Tasks that ended longer ago than this, by the database's clock. */
  readonly endedForMs: number;
}

/** What a step has seen. */
export interface RetentionFound {
  /** Ended tasks whose events are due, with their documents; none with a lease or a webhook that still waits. */
  readonly tasks: readonly StoredTask[];
  /** The last id looked at, or null at the end of the walk. */
  readonly next: string | null;
}

/** An ended task, compacted: everything it ever said is in `snapshot`. */
export interface CompactTask {
  readonly taskId: string;
  /** The version that the snapshot is of; nothing happens when the task has another. */
  readonly version: number;
  readonly snapshot: string;
}

/** A task that was deleted. */
export interface PurgedTask {
  readonly taskId: string;
  readonly scope: Scope;
  readonly state: StateName;
}

/**
 * The statements of retention (protocol 11). They touch ended tasks only, judged again under the lock of the task's row,
 * and pass over rows that are locked. A snapshot whose version is the task's, and no event below: that is the mark of a
 * pruned log.
 */
export interface RetentionStatements {
  /** Looks for tasks whose events can go. Locks nothing. */
  findCompactable(step: RetentionStep): Promise<RetentionFound>;
  /** Stores the snapshots and deletes the events up to their versions, in one transaction; the number of events. */
  compact(tasks: readonly CompactTask[]): Promise<number>;
  /**
   * Deletes ended tasks with all that belongs to them: snapshot, events, webhooks and dead letters. Walks as
   * {@link RetentionStatements.findCompactable} does. A webhook that still waits keeps its task.
   */
  purge(
    step: RetentionStep,
  ): Promise<{ readonly purged: readonly PurgedTask[]; readonly next: string | null }>;
}
