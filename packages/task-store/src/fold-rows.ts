import {
  ClusterError,
  decodeEvent,
  errorText,
  projectAll,
  type EventRow,
  type TaskEvent,
} from '@a2a-cluster/core';
import { Task } from '@a2a-js/sdk';

/** What {@link foldRows} folds. */
export interface FoldRows {
  /** The task before the first row; `undefined`: none yet. Not changed. */
  readonly task: Task | undefined;
  /** Of one task, in order of seq. */
  readonly rows: readonly EventRow[];
}

/**
 * The task after these rows of its log; `message` rows go to the history. Linear in the number of parts.
 * The result may share parts with `task`: treat both as read-only.
 *
 * @throws ClusterError `ROW_CORRUPT`, with the task id and the seq, when a row cannot be read.
 */
export function foldRows({ task, rows }: FoldRows): Task | undefined {
  return projectAll({ task, events: decodedRows(rows) });
}

function* decodedRows(rows: readonly EventRow[]): Generator<TaskEvent> {
  for (const row of rows) {
    try {
      yield decodeEvent(row.kind, row.payload);
    } catch (cause) {
      throw corruptTask({
        taskId: row.taskId,
        what: `event ${row.seq}: ${errorText(cause)}`,
        cause,
        seq: row.seq,
      });
    }
  }
}

/**
 * The task of a stored snapshot.
 * @throws ClusterError `ROW_CORRUPT` with the task id when it is not the JSON of that task.
 */
export function decodeSnapshot(snapshot: { readonly taskId: string; readonly payload: string }): Task {
  const { taskId, payload } = snapshot;
  const task = readSnapshot(taskId, payload);
  if (task.id !== taskId) throw corruptTask({ taskId, what: 'the snapshot is of another task' });
  return task;
}

function readSnapshot(taskId: string, payload: string): Task {
  try {
    return Task.fromJSON(JSON.parse(payload));
  } catch (cause) {
    throw corruptTask({ taskId, what: `the snapshot: ${errorText(cause)}`, cause });
  }
}

/** The fault of a task whose stored form cannot be read; `what` says which part. */
export function corruptTask(fault: {
  readonly taskId: string;
  readonly what: string;
  readonly cause?: unknown;
  readonly seq?: number;
}): ClusterError {
  const { taskId, what, cause, seq } = fault;
  const details = seq === undefined ? { taskId } : { taskId, seq };
  return new ClusterError('ROW_CORRUPT', `task ${taskId} cannot be read: ${what}`, { cause, details });
}
