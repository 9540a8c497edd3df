import { TaskState, TaskStatusUpdateEvent } from '@a2a-js/sdk';
import { describe, expect, test } from '@jest/globals';
import {
  ClusterError,
  errorText,
  failedStatus,
  failureReasonOf,
  FAILURE_TEXT,
  isClusterError,
  withFields,
  type FailureReason,
  type Logger,
} from '../src/index.js';

const options = {
  taskId: 't',
  contextId: 'c',
  timestamp: '2026-01-01T00:00:00.000Z',
  messageId: 'm',
} as const;

describe('the FAILED update of the cluster', () => {
  test.each(Object.keys(FAILURE_TEXT) as FailureReason[])(
    'says %s in words to people and as a reason to programs',
    (reason) => {
      const update = failedStatus({ ...options, reason, detail: { expiredAt: 'x' } });
      expect(update.status).toMatchObject({
        state: TaskState.TASK_STATE_FAILED,
        timestamp: options.timestamp,
      });
      expect(update.status?.message?.parts[0]?.content).toEqual({
        $case: 'text',
        value: FAILURE_TEXT[reason],
      });
      expect(update.metadata).toEqual({ 'a2a-cluster': { reason, expiredAt: 'x' } });
      expect(failureReasonOf(update.metadata)).toBe(reason);
    },
  );

  test('survives the codec', () => {
    const update = failedStatus({ ...options, reason: 'executor_error', text: 'Agent execution error: no' });
    expect(TaskStatusUpdateEvent.fromJSON(TaskStatusUpdateEvent.toJSON(update))).toEqual(update);
  });

  test.each([
    undefined,
    {},
    { 'a2a-cluster': null },
    { 'a2a-cluster': 'x' },
    { 'a2a-cluster': { reason: 5 } },
  ])('is not seen in the metadata %j of others', (metadata) => {
    expect(failureReasonOf(metadata)).toBeUndefined();
  });
});

describe('faults', () => {
  test('are known by their code, also across copies of the package', () => {
    const foreign = Object.assign(new Error('x'), { name: 'ClusterError', code: 'CLOSED' });
    expect(isClusterError(new ClusterError('BUG', 'x'), 'BUG')).toBe(true);
    expect(isClusterError(new ClusterError('BUG', 'x'), 'CLOSED')).toBe(false);
    expect(isClusterError(foreign, 'CLOSED')).toBe(true);
    expect(isClusterError(new Error('x'))).toBe(false);
    expect(isClusterError({ name: 'ClusterError', code: 'BUG' })).toBe(false);
  });

  test('keep their cause and details', () => {
    const cause = new Error('below');
    expect(new ClusterError('STORE_FAULT', 'x', { cause, details: { a: 1 } })).toMatchObject({
      cause,
      details: { a: 1 },
    });
    expect(errorText(cause)).toBe('below');
    expect(errorText(7)).toBe('7');
  });
});

describe('a logger with fields', () => {
  test("adds them to every line, below the line's own", () => {
    const lines: unknown[] = [];
    const write = (fields: unknown, text: string): void => void lines.push([fields, text]);
    const logger: Logger = { debug: write, info: write, warn: write, error: write };
    withFields(logger, { a: 1, b: 1 }).warn({ b: 2 }, 'hello');
    expect(lines).toEqual([[{ a: 1, b: 2 }, 'hello']]);
  });
});
