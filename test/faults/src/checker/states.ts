import { isTerminalName } from '@a2a-cluster/core';
import type { ReadRow } from './read-row.js';
import type { TaskView } from './view.js';

/** The state that asks the client for input. */
export const INPUT_REQUIRED = 'TASK_STATE_INPUT_REQUIRED';
/** The state that asks the client for credentials. */
export const AUTH_REQUIRED = 'TASK_STATE_AUTH_REQUIRED';
/** The state of a cancelled task. */
export const CANCELED = 'TASK_STATE_CANCELED';

/** The first terminal row, if there is one. */
export function terminalRow(task: TaskView): ReadRow | undefined {
  return task.read.find(isTerminalRow);
}

/** Whether the row leaves its task in a terminal state. */
export function isTerminalRow({ state }: ReadRow): boolean {
  return state !== undefined && isTerminalName(state);
}

/** The state of the task as of a seq; `''` before the first. */
export function stateAt(task: TaskView, seq: number): string {
  return task.read.findLast(({ row, state }) => row.seq <= seq && state !== undefined)?.state ?? '';
}

/** Whether the row is the ending that a sweeper writes for a lost replica. */
export function isSwept({ reason }: ReadRow): boolean {
  return reason === 'replica_lost';
}
