import { INTERRUPTED_STATE_NAMES, TERMINAL_STATE_NAMES, type StateName } from '@a2a-cluster/core';

/** Every state that a stored task can be in. */
export const STATE_NAMES: readonly StateName[] = [
  'TASK_STATE_SUBMITTED',
  'TASK_STATE_WORKING',
  ...INTERRUPTED_STATE_NAMES,
  ...TERMINAL_STATE_NAMES,
];
