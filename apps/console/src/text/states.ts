import { capital } from './format.js';

/** How a state looks: what it asks of a person, never told by colour alone. */
export type Tone = 'busy' | 'wait' | 'good' | 'bad' | 'calm';

/** The states of A2A 1.0, in the order a task has them. */
export const TASK_STATES = [
  'TASK_STATE_SUBMITTED',
  'TASK_STATE_WORKING',
  'TASK_STATE_INPUT_REQUIRED',
  'TASK_STATE_AUTH_REQUIRED',
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_REJECTED',
] as const;

const ENDED = new Set([
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_REJECTED',
]);

const TONES: Readonly<Record<string, Tone>> = {
  TASK_STATE_SUBMITTED: 'busy',
  TASK_STATE_WORKING: 'busy',
  TASK_STATE_INPUT_REQUIRED: 'wait',
  TASK_STATE_AUTH_REQUIRED: 'wait',
  TASK_STATE_COMPLETED: 'good',
  TASK_STATE_FAILED: 'bad',
  TASK_STATE_REJECTED: 'bad',
};

/** `TASK_STATE_INPUT_REQUIRED` as `Input required`; a name nobody knows is shown as it is. */
export function stateLabel(state: string): string {
  if (!state.startsWith('TASK_STATE_')) return state === '' ? 'Unknown' : state;
  return capital(state.slice('TASK_STATE_'.length).toLowerCase().replaceAll('_', ' '));
}

/** How a state looks. */
export function stateTone(state: string): Tone {
  return TONES[state] ?? 'calm';
}

/** Whether a task in this state is over for good. */
export function hasEnded(state: string): boolean {
  return ENDED.has(state);
}
