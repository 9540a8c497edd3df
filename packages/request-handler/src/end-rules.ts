import { TaskState } from '@a2a-js/sdk';
import { isTerminal, type TaskEvent } from '@a2a-cluster/core';

/** What an event means for those who follow a task (protocol 7). */
export type EventMeaning =
  /** The task has ended. */
  | 'terminal'
  /** The task waits for input: the turn is over for its client. */
  | 'input_required'
  /** The task waits for credentials; its agent may go on. */
  | 'auth_required'
  | 'progress';

/**
 * What an event means. A `task` event says "input required" only where it changes the state to it: agents echo the
 * old task as their first event, and that ends nothing.
 */
export function meaningOf(event: TaskEvent, stateBefore: TaskState | undefined): EventMeaning {
  const state = stateAfter(event);
  if (state === undefined) return 'progress';
  if (isTerminal(state)) return 'terminal';
  if (event.kind === 'task' && state === stateBefore) return 'progress';
  if (state === TaskState.TASK_STATE_INPUT_REQUIRED) return 'input_required';
  if (state === TaskState.TASK_STATE_AUTH_REQUIRED) return 'auth_required';
  return 'progress';
}

/** The state an event leaves the task in; undefined: it says nothing of the state. */
export function stateAfter(event: TaskEvent): TaskState | undefined {
  if (event.kind === 'task' || event.kind === 'statusUpdate') return event.data.status?.state;
  return undefined;
}
