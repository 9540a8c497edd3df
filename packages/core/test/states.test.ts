import { TaskState } from '@a2a-js/sdk';
import { describe, expect, test } from '@jest/globals';
import {
  INTERRUPTED_STATE_NAMES,
  isInterrupted,
  isInterruptedName,
  isTerminal,
  isTerminalName,
  stateName,
  stateValue,
  TERMINAL_STATE_NAMES,
  verdictOn,
  type Verdict,
} from '../src/index.js';

const all = Object.values(TaskState).filter((value): value is TaskState => typeof value === 'number');

describe('task states', () => {
  test('have the name that stands in JSON, and the way back', () => {
    for (const state of all) {
      if (state === TaskState.UNRECOGNIZED) continue;
      expect(stateName(state)).toBe(TaskState[state]);
      expect(stateValue(stateName(state))).toBe(state);
    }
  });

  test('that are missing or unknown have a name too', () => {
    expect(stateName(undefined)).toBe('TASK_STATE_UNSPECIFIED');
    expect(stateName(TaskState.UNRECOGNIZED)).toBe('UNRECOGNIZED');
    expect(stateValue('TASK_STATE_OF_TOMORROW')).toBe(TaskState.UNRECOGNIZED);
  });

  test('are terminal in four cases and interrupted in two, by value and by name alike', () => {
    const { TASK_STATE_COMPLETED, TASK_STATE_FAILED, TASK_STATE_CANCELED, TASK_STATE_REJECTED } = TaskState;
    const terminal = [TASK_STATE_COMPLETED, TASK_STATE_FAILED, TASK_STATE_CANCELED, TASK_STATE_REJECTED];
    const interrupted = [TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_AUTH_REQUIRED];
    expect(all.filter(isTerminal)).toEqual(terminal);
    expect(new Set(all.filter(isInterrupted))).toEqual(new Set(interrupted));
    expect(all.map(stateName).filter(isTerminalName)).toEqual(TERMINAL_STATE_NAMES);
    expect(new Set(all.map(stateName).filter(isInterruptedName))).toEqual(new Set(INTERRUPTED_STATE_NAMES));
    expect(isTerminal(undefined) || isInterrupted(undefined)).toBe(false);
  });
});

describe('the verdict on an expired lease', () => {
  test.each<[string | null, boolean, Verdict]>([
    [null, false, 'drop'],
    [null, true, 'drop'],
    ['TASK_STATE_COMPLETED', false, 'drop'],
    ['TASK_STATE_COMPLETED', true, 'drop'],
    ['TASK_STATE_FAILED', true, 'drop'],
    ['TASK_STATE_CANCELED', true, 'drop'],
    ['TASK_STATE_REJECTED', true, 'drop'],
    ['TASK_STATE_INPUT_REQUIRED', false, 'drop'],
    ['TASK_STATE_INPUT_REQUIRED', true, 'fail'],
    ['TASK_STATE_AUTH_REQUIRED', false, 'fail'],
    ['TASK_STATE_AUTH_REQUIRED', true, 'fail'],
    ['TASK_STATE_SUBMITTED', false, 'fail'],
    ['TASK_STATE_WORKING', false, 'fail'],
    ['TASK_STATE_WORKING', true, 'fail'],
    ['TASK_STATE_UNSPECIFIED', false, 'fail'],
    ['UNRECOGNIZED', false, 'fail'],
  ])('for state %s with pending %s is %s', (state, pending, verdict) => {
    expect(verdictOn({ state, pending })).toBe(verdict);
  });
});
