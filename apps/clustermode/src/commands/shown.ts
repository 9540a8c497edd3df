import { isTerminalName } from '@a2a-cluster/core';
import { shownDuration } from '../shown-duration.js';
import type { Paint } from '../table.js';

/** `TASK_STATE_INPUT_REQUIRED` as `INPUT_REQUIRED`. */
export function shownState(state: string): string {
  return state.replace(/^TASK_STATE_/, '');
}

/** A duration for people; null stays. */
export function shownMs(ms: number | null): string | null {
  return ms === null ? null : shownDuration(ms);
}

/** What is urgent in red, what is odd in yellow. */
export const paint: Paint = (column, value) => {
  if (column === 'state') return stateColour(value);
  if (column === 'health') return value === 'alive' ? 'green' : 'red';
  if (column === 'phase' && value !== 'running') return 'yellow';
  if ((column === 'left' || column === 'lease left') && value.startsWith('-')) return 'red';
  if (column === 'expired' && value !== '0') return 'red';
  return undefined;
};

function stateColour(state: string): ReturnType<Paint> {
  if (state === 'FAILED' || state === 'REJECTED') return 'red';
  if (state === 'WORKING' || state === 'SUBMITTED') return 'cyan';
  return isTerminalName(`TASK_STATE_${state}`) ? 'gray' : 'yellow';
}
