import { describe, expect, test } from '@jest/globals';
import type { EventInfo } from '../src/api/index.js';
import { readableMessage, readableParts } from '../src/text/parts.js';
import { eventText, groupByTurn, mergeEvents } from '../src/text/timeline.js';

function event(seq: number, more: Partial<EventInfo> = {}): EventInfo {
  const payload = { statusUpdate: { status: { state: 'TASK_STATE_WORKING' } } };
  return { seq, kind: 'statusUpdate', holder: 'a', epoch: 1, createdAtMs: seq, payload, ...more };
}

function piece(seq: number, artifactId = 'x', holder = 'a'): EventInfo {
  const payload = { artifactUpdate: { append: seq > 1, artifact: { artifactId, parts: [{ text: 't' }] } } };
  return event(seq, { kind: 'artifactUpdate', payload, holder });
}

describe('the turns of a log', () => {
  test('begin with their epochs, and a change of the replica is marked', () => {
    const groups = groupByTurn([
      event(1),
      event(2, { holder: 'sweeper' }),
      event(3, { epoch: 3 }),
      event(4, { epoch: 4, holder: 'b' }),
    ]);
    expect(groups.map(({ epoch, holder, moved }) => [epoch, holder, moved])).toEqual([
      [1, 'a', false],
      [3, 'a', false],
      [4, 'b', true],
    ]);
    expect(groups[0]?.items).toHaveLength(2);
  });

  test('fold pieces of one artifact by one replica, from four on', () => {
    const kinds = (events: readonly EventInfo[]): unknown =>
      groupByTurn(events)[0]?.items.map((item) =>
        item.kind === 'event' ? item.event.seq : item.events.length,
      );
    expect(kinds([piece(1), piece(2), piece(3)])).toEqual([1, 2, 3]);
    expect(kinds([event(1), piece(2), piece(3), piece(4), piece(5), event(6)])).toEqual([1, 4, 6]);
    expect(kinds([piece(1), piece(2), piece(3, 'y'), piece(4, 'y')])).toEqual([1, 2, 3, 4]);
    expect(kinds([piece(1), piece(2), piece(3, 'x', 'b'), piece(4, 'x', 'b')])).toEqual([1, 2, 3, 4]);
  });

  test('are nothing without events', () => expect(groupByTurn([])).toEqual([]));
});

test('events that come twice or late are shown once and in order', () => {
  const merged = mergeEvents([event(3), event(4)], [event(1), event(4), event(2)]);
  expect(merged.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
});

describe('what an event says', () => {
  test('a status with its message and the reason of the cluster', () => {
    const text = eventText(
      event(1, {
        payload: {
          statusUpdate: {
            status: {
              state: 'TASK_STATE_FAILED',
              message: { role: 'ROLE_AGENT', parts: [{ text: 'gone' }] },
            },
            metadata: { 'a2a-cluster': { reason: 'replica_lost' } },
          },
        },
      }),
    );
    expect(text).toEqual({
      title: 'Status',
      state: 'TASK_STATE_FAILED',
      parts: [{ kind: 'text', text: 'gone' }],
      reason: 'replica_lost',
    });
  });

  test('a message of the user', () => {
    const payload = { role: 'ROLE_USER', messageId: 'm', parts: [{ text: 'hi' }] };
    expect(eventText(event(1, { kind: 'message', payload }))).toMatchObject({
      title: 'Message of the user',
      parts: [{ text: 'hi' }],
    });
  });

  test.each([[null], [undefined], ['text'], [[]], [{}]])(
    'nothing, but no fault, with a payload of %j',
    (odd) => {
      const payload = { statusUpdate: odd, task: odd, artifactUpdate: odd } as Record<string, unknown>;
      for (const kind of ['statusUpdate', 'task', 'artifactUpdate', 'message', 'to-come'])
        expect(eventText(event(1, { kind, payload })).parts).toEqual([]);
    },
  );
});

describe('parts', () => {
  test('texts that follow each other are one, data is JSON, files have name, type and size', () => {
    const raw = Buffer.from('hello').toString('base64');
    expect(
      readableParts([
        { text: 'a' },
        { text: '\n<b>' },
        { data: { n: 1 } },
        { raw, filename: 'f.txt', mediaType: 'text/plain' },
        { url: 'https://files.test/x?sig=secret#part' },
      ]),
    ).toEqual([
      { kind: 'text', text: 'a\n<b>' },
      { kind: 'data', text: '{\n  "n": 1\n}' },
      { kind: 'file', name: 'f.txt', type: 'text/plain', size: '5 B' },
      { kind: 'file', name: 'without a name', type: 'unknown type', size: 'at https://files.test/x' },
    ]);
  });

  test('a message without parts is none', () => {
    expect(readableMessage({ role: 'ROLE_AGENT', parts: [] })).toBeNull();
    expect(readableMessage('text')).toBeNull();
  });
});
