import { describe, expect, test } from '@jest/globals';
import { decodeEvent, type EventRow } from '@a2a-cluster/core';
import { Entry } from '../src/entry.js';

const payload = '{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_WORKING"}}}';
const row: EventRow = {
  ...{ taskId: 't', seq: 1, kind: 'statusUpdate', payload, messageId: null, holder: 'r', epoch: 1 },
};

describe('a row of the log', () => {
  test('is decoded once, however often it is asked for', () => {
    const entry = new Entry(row);
    expect(entry.event).toEqual(decodeEvent('statusUpdate', payload));
    expect(entry.event).toBe(entry.event);
  });

  test('is not decoded again where its writer has it decoded', () => {
    const decoded = decodeEvent('statusUpdate', payload);
    expect(new Entry({ ...row, decoded }).event).toBe(decoded);
  });
});
