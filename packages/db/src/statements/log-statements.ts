import type { EventRow, Scope, StateName } from '@a2a-cluster/core';
import type { Look } from './journal-statements.js';

/** A task as stored: a snapshot and the events after it, read in one statement. */
export interface StoredTask extends Look {
  readonly taskId: string;
  /** The Task JSON as of `snapshotVersion`; null when none was written yet (then `events` starts at seq 1). */
  readonly snapshot: string | null;
  readonly snapshotVersion: number;
  /** Events with seq > `snapshotVersion`, in order, up to `version`. */
  readonly events: readonly EventRow[];
}

/** Where a task's log ends, and who runs it: what the dispatcher asks for every watched task in one query. */
export interface LogHead {
  readonly taskId: string;
  readonly version: number;
  readonly state: StateName;
  /** Null: no lease row. */
  readonly lease: {
    readonly holder: string;
    readonly epoch: number;
    readonly cancelAgeMs: number | null;
  } | null;
}

/** A page of one task's log. */
export interface LogPage {
  readonly taskId: string;
  /** Events with seq greater than this. */
  readonly after: number;
  readonly limit: number;
}

/** The statements that read the log. None of them locks. */
export interface LogStatements {
  /** Null: no such task (of that scope, if one is named). Version and lease are from the same statement. */
  readTask(read: { readonly taskId: string; readonly scope?: Scope }): Promise<StoredTask | null>;
  /** The heads of these tasks in one statement; a task that is gone is not in the answer. */
  readHeads(taskIds: readonly string[]): Promise<readonly LogHead[]>;
  /** Events after a seq, in order, at most `limit`. */
  readEvents(page: LogPage): Promise<readonly EventRow[]>;
  /** Events after each task's own seq, in order per task, at most `limit` in all; one statement. */
  readEventsOf(pages: {
    readonly cursors: readonly { readonly taskId: string; readonly after: number }[];
    readonly limit: number;
  }): Promise<readonly EventRow[]>;
  /** The seq and epoch of the row that carries a user message, or null. */
  findMessage(find: {
    readonly taskId: string;
    readonly messageId: string;
  }): Promise<{ readonly seq: number; readonly epoch: number } | null>;
}
