import { TaskState, taskStateFromJSON, taskStateToJSON } from '@a2a-js/sdk';

/** A task state as it stands in the tables and in JSON: the full name, `TASK_STATE_WORKING`. */
export type StateName = string;

/** Names of the states after which nothing follows (A2A 1.0, task lifecycle). */
export const TERMINAL_STATE_NAMES: readonly StateName[] = [
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_REJECTED',
];

/** Names of the states in which a task waits for its client. */
export const INTERRUPTED_STATE_NAMES: readonly StateName[] = [
  'TASK_STATE_INPUT_REQUIRED',
  'TASK_STATE_AUTH_REQUIRED',
];

const terminal = new Set(TERMINAL_STATE_NAMES);
const interrupted = new Set(INTERRUPTED_STATE_NAMES);

/** The name of a state of the SDK's enum. */
export function stateName(state: TaskState | undefined): StateName {
  return taskStateToJSON(state ?? TaskState.TASK_STATE_UNSPECIFIED);
}

/** The SDK's enum value of a name; an unknown name gives `UNRECOGNIZED`. */
export function stateValue(name: StateName): TaskState {
  return taskStateFromJSON(name);
}

/** COMPLETED, FAILED, CANCELED or REJECTED, by name. */
export function isTerminalName(name: StateName): boolean {
  return terminal.has(name);
}

/** INPUT_REQUIRED or AUTH_REQUIRED, by name. */
export function isInterruptedName(name: StateName): boolean {
  return interrupted.has(name);
}

/** COMPLETED, FAILED, CANCELED or REJECTED. */
export function isTerminal(state: TaskState | undefined): boolean {
  return isTerminalName(stateName(state));
}

/** INPUT_REQUIRED or AUTH_REQUIRED. */
export function isInterrupted(state: TaskState | undefined): boolean {
  return isInterruptedName(stateName(state));
}
