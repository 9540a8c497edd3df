import type { EventRow, Scope } from '@a2a-cluster/core';
import { foldRows, type TaskReader } from '@a2a-cluster/task-store';
import type { Task } from '@a2a-js/sdk';

/** Gives the task as it was at each of the rows it is asked for, in order of seq. */
export type TaskAtRow = (row: EventRow) => Promise<Task | undefined>;

/**
 * For webhooks of protocol 0.3, which are sent the whole task: reads it once and folds the rows that follow; reads
 * again after a gap. Where the early log is gone it is the task as it is.
 */
export function createTaskAtRow(parts: {
  readonly reader: TaskReader;
  readonly taskId: string;
  readonly scope: Scope;
}): TaskAtRow {
  const { reader, taskId, scope } = parts;
  let last: { readonly seq: number; readonly task: Task | undefined } | null = null;
  const taskAt = async (row: EventRow): Promise<Task | undefined> => {
    if (last?.task && last.seq === row.seq - 1) return foldRows({ task: last.task, rows: [row] });
    const then = await reader.readTaskAt({ taskId, scope, seq: row.seq });
    return then ?? (await reader.read({ taskId, scope }))?.task;
  };
  return async (row) => {
    const task = await taskAt(row);
    last = { seq: row.seq, task };
    return task;
  };
}
