import { StreamResponse, TaskState } from '@a2a-js/sdk';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  decodeEvent,
  encodeEvent,
  isClusterError,
  toStreamResponse,
  type EventKind,
  type TaskEvent,
} from '../src/index.js';
import { event } from './arbitraries.js';

const refusal = (kind: EventKind, payload: string): unknown => {
  try {
    return decodeEvent(kind, payload);
  } catch (error) {
    return error;
  }
};

describe('the encoding of events', () => {
  test('gives the same bytes again after a round trip', () => {
    fc.assert(
      fc.property(event, (next) => {
        const payload = encodeEvent(next);
        expect(encodeEvent(decodeEvent(next.kind, payload))).toBe(payload);
      }),
      { numRuns: 500 },
    );
  });

  test('loses nothing that the codec knows', () => {
    fc.assert(
      fc.property(event, (next) => {
        expect(structuredClone(decodeEvent(next.kind, encodeEvent(next)))).toEqual(structuredClone(next));
      }),
      { numRuns: 500 },
    );
  });

  test('is what a subscriber is sent, for every kind that is shown', () => {
    fc.assert(
      fc.property(event, (next) => {
        if (next.kind === 'message') return;
        expect(encodeEvent(next)).toBe(JSON.stringify(StreamResponse.toJSON(toStreamResponse(next))));
      }),
    );
  });

  test('names states in full and keeps NUL and line separators', () => {
    const update: TaskEvent = {
      kind: 'statusUpdate',
      data: {
        taskId: 't',
        contextId: 'c',
        status: { state: TaskState.TASK_STATE_WORKING, message: undefined, timestamp: undefined },
        metadata: { a: 'x\u0000\u2028y' },
      },
    };
    expect(encodeEvent(update)).toBe(
      '{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"},"metadata":{"a":"x\\u0000\u2028y"}}}',
    );
  });

  test.each<[EventKind, string]>([
    ['task', ''],
    ['task', '{"task":'],
    ['task', 'null'],
    ['task', '"task"'],
    ['task', '{}'],
    ['statusUpdate', '{"task":{"id":"t"}}'],
    ['message', '[1'],
    ['artifactUpdate', '{"artifactUpdate":{"artifact":{"parts":[null]}}}'],
    ['message', '{"parts":[null]}'],
  ])('answers ROW_CORRUPT for a %s stored as %j', (kind, payload) => {
    expect(isClusterError(refusal(kind, payload), 'ROW_CORRUPT')).toBe(true);
  });
});
