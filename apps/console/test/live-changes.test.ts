import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { TaskSummary } from '../src/api/index.js';
import { changedPage, changedTask } from '../src/state/changed-page.js';
import { throttled } from '../src/state/throttle.js';

const lease = { holder: 'a', epoch: 1, pending: false, remainingMs: 9_000, cancelAgeMs: null };
const task: TaskSummary = {
  ...{ taskId: 't', contextId: 'c', tenant: '', owner: 'o', state: 'TASK_STATE_WORKING', version: 5 },
  ...{ createdAtMs: 1_000, ageMs: 100, idleMs: 40, lease },
};

describe('a row that changes live', () => {
  test('has the new state, and its last event is now', () => {
    const next = changedTask(
      task,
      { taskId: 't', gone: false, state: 'TASK_STATE_COMPLETED', version: 6, lease: null },
      1_500,
    );
    expect(next).toEqual({
      ...task,
      ...{ state: 'TASK_STATE_COMPLETED', version: 6, ageMs: 500, idleMs: 0, lease: null },
    });
  });

  test('keeps what was read of the same turn, and knows nothing yet of another', () => {
    const same = changedTask(task, { taskId: 't', gone: false, lease: { holder: 'a', epoch: 1 } }, 1_200);
    expect(same.lease).toBe(lease);
    expect(same.idleMs).toBe(140);
    const other = changedTask(task, { taskId: 't', gone: false, lease: { holder: 'b', epoch: 7 } }, 1_200);
    expect(other.lease).toMatchObject({ holder: 'b', epoch: 7, remainingMs: Number.NaN });
  });

  test('does not go back to what is older', () => {
    const old = { taskId: 't', gone: false, state: 'TASK_STATE_SUBMITTED', version: 4 };
    expect(changedTask(task, old, 1_200)).toBe(task);
  });

  test('leaves the page when it is deleted; a task that is not shown changes nothing', () => {
    const page = { tasks: [task], nextCursor: null };
    expect(changedPage(page, { taskId: 'other', gone: true }, 0)).toBe(page);
    expect(changedPage(page, { taskId: 't', gone: true }, 0).tasks).toEqual([]);
  });
});

describe('what comes too often', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  test('is done at once, then once an interval with the newest', () => {
    const done: number[] = [];
    const call = throttled((value: number) => void done.push(value), 500);
    for (const value of [1, 2, 3]) call(value);
    expect(done).toEqual([1]);
    jest.advanceTimersByTime(500);
    expect(done).toEqual([1, 3]);
    jest.advanceTimersByTime(5_000);
    call(4);
    call(5);
    call.stop();
    jest.advanceTimersByTime(5_000);
    expect(done).toEqual([1, 3, 4]);
  });
});
