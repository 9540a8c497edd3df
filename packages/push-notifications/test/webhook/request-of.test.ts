import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { decodeEvent, encodeEvent, toStreamResponse, type EventRow, type TaskEvent } from '@a2a-cluster/core';
import { TaskPushNotificationConfig, TaskState, type Task } from '@a2a-js/sdk';
import { createLegacyAwarePushNotificationSender } from '@a2a-js/sdk/compat/v0_3/server';
import {
  ServerCallContext,
  V1PushNotificationSerializer,
  type PushNotificationStore,
} from '@a2a-js/sdk/server';
import fc from 'fast-check';
import { event as anyEvent } from '../../../core/test/arbitraries.js';
import {
  createWebhookAddressPolicy,
  createWebhookClient,
  notificationIdOf,
  webhookRequestOf,
} from '../../src/index.js';
import { startReceiver, type Receiver } from './receiver.js';

type Config = Parameters<typeof webhookRequestOf>[0]['stored']['config'];

const task: Task = {
  ...{ id: 't', contextId: 'c', artifacts: [], history: [], metadata: { whole: true } },
  status: {
    state: TaskState.TASK_STATE_COMPLETED,
    message: undefined,
    timestamp: '2030-01-01T00:00:00.000Z',
  },
};

const events: readonly Exclude<TaskEvent, { kind: 'message' }>[] = [
  { kind: 'task', data: { ...task, metadata: { text: 'Zürich "\\\u2028 😀' } } },
  {
    kind: 'statusUpdate',
    data: { taskId: 't', contextId: 'c', metadata: undefined, status: task.status },
  },
  {
    kind: 'artifactUpdate',
    data: {
      ...{ taskId: 't', contextId: 'c', metadata: undefined, append: false, lastChunk: true },
      artifact: {
        ...{ artifactId: 'a', name: 'n', description: '', metadata: undefined, extensions: [] },
        parts: [
          {
            content: { $case: 'raw', value: Buffer.from([0, 255]) },
            metadata: undefined,
            filename: '',
            mediaType: '',
          },
        ],
      },
    },
  },
];

const rowOf = (event: TaskEvent, seq = 7): EventRow => ({
  ...{
    taskId: 't',
    seq,
    kind: event.kind,
    payload: encodeEvent(event),
    messageId: null,
    holder: 'r',
    epoch: 1,
  },
});

const configOf = (more: Partial<Config>): Config => ({
  ...TaskPushNotificationConfig.fromJSON({ id: 'c', taskId: 't' }),
  ...more,
});

describe('a request', () => {
  let receiver: Receiver;
  let url: string;

  beforeAll(async () => {
    // The SDK's sender writes its successes, and versions it does not know.
    for (const level of ['info', 'warn'] as const) jest.spyOn(console, level).mockImplementation(() => {});
    receiver = await startReceiver();
    url = `http://127.0.0.1:${receiver.port}/hook?key=1`;
  });

  afterAll(async () => {
    jest.restoreAllMocks();
    await receiver.close();
  });

  const authentication = { scheme: 'Bearer', credentials: 'abc' };
  const kinds: readonly (readonly [string, Partial<Config>])[] = [
    ['nothing', {}],
    ['a token', { token: 'tok' }],
    ['an authentication', { authentication }],
    ['both', { token: 'tok', authentication }],
    [
      'half an authentication and a token',
      { token: 'tok', authentication: { scheme: 'Bearer', credentials: '' } },
    ],
    ['half an authentication', { authentication: { scheme: '', credentials: 'abc' } }],
  ];
  const cases = ['1.0', '0.3', '', '9.9'].flatMap((wireVersion) =>
    kinds.flatMap(([title, more]) =>
      events.map((event) => ({ wireVersion, title, more, event, kind: event.kind })),
    ),
  );

  test.each(cases)(
    'of version "$wireVersion" with $title for a $kind is what the SDK sends',
    async ({ wireVersion, more, event }) => {
      const config = configOf({ url, ...more });
      const stored = { config, wireVersion };
      const store: PushNotificationStore & { loadWithMetadata(): Promise<(typeof stored)[]> } = {
        ...{ save: async () => {}, load: async () => [config], delete: async () => {} },
        loadWithMetadata: async () => [stored],
      };
      const sender = createLegacyAwarePushNotificationSender(store);
      await sender.send(toStreamResponse(event), new ServerCallContext({ requestedVersion: '1.0' }), task);
      const client = createWebhookClient({ policy: createWebhookAddressPolicy({ allowPrivate: true }) });
      await client.post(webhookRequestOf({ stored, row: rowOf(event), task }));
      await client.close();
      const [theirs, ours] = receiver.arrived.slice(-2);
      const shown = ['content-type', 'authorization', 'x-a2a-notification-token'];
      expect(ours?.headers['a2a-notification-id']).toBe('t:7:c');
      expect([ours?.method, ours?.path, ours?.body]).toEqual([theirs?.method, theirs?.path, theirs?.body]);
      expect(shown.map((name) => ours?.headers[name])).toEqual(shown.map((name) => theirs?.headers[name]));
    },
  );

  test('of 1.0 is the stored text, which is what the SDK makes of any event', () => {
    const serializer = new V1PushNotificationSerializer();
    const stored = { config: configOf({ url }), wireVersion: '1.0' };
    fc.assert(
      fc.property(anyEvent, (event) => {
        if (event.kind === 'message') return;
        const row = rowOf(event);
        const decoded = decodeEvent(row.kind, row.payload);
        if (decoded.kind === 'message') throw new Error('another kind');
        const made = webhookRequestOf({ stored, row });
        expect(made).toMatchObject(serializer.serialize(toStreamResponse(decoded)));
        expect(made.body).toBe(row.payload);
      }),
    );
  });

  test('of 0.3 without the task holds the event alone', () => {
    const stored = { config: configOf({ url }), wireVersion: '0.3' };
    const kindsOf = events.map(
      (event) => JSON.parse(webhookRequestOf({ stored, row: rowOf(event) }).body).kind,
    );
    expect(kindsOf).toEqual(['task', 'status-update', 'artifact-update']);
  });

  test('is made of no message row, and of no row that cannot be read', () => {
    const [, update] = events;
    if (update === undefined) throw new Error('no event');
    const stored = { config: configOf({ url }), wireVersion: '0.3' };
    const bug = expect.objectContaining({ code: 'BUG' });
    const corrupt = expect.objectContaining({ code: 'ROW_CORRUPT' });
    for (const wireVersion of ['1.0', '0.3'])
      expect(() =>
        webhookRequestOf({ stored: { ...stored, wireVersion }, row: { ...rowOf(update), kind: 'message' } }),
      ).toThrow(bug);
    expect(() => webhookRequestOf({ stored, row: { ...rowOf(update), payload: '{' } })).toThrow(corrupt);
  });
});

describe('the id of a notification', () => {
  test.each([
    ['task-1', 'config_2', 'task-1:7:config_2'],
    ['3f2c4a9e-8d1b-4a57-9b1e-0c9a5d7e6f10', 'c.1~a', '3f2c4a9e-8d1b-4a57-9b1e-0c9a5d7e6f10:7:c.1~a'],
    ['a:b', 'c:d', 'a%3Ab:7:c%3Ad'],
    ['Zürich/1', '漢 字', 'Z%C3%BCrich%2F1:7:%E6%BC%A2%20%E5%AD%97'],
    ['100%', '\r\n', '100%25:7:%0D%0A'],
    ['\ud800', 'c', '%EF%BF%BD:7:c'],
  ])('of %j and %j is %s', (taskId, configId, id) => {
    expect(notificationIdOf({ taskId, seq: 7, configId })).toBe(id);
  });

  test('fits a header and belongs to one notification only', () => {
    const part = fc.string({ unit: 'binary' }).filter((value) => value.isWellFormed());
    const one = fc.record({ taskId: part, seq: fc.nat(), configId: part });
    fc.assert(
      fc.property(one, one, (a, b) => {
        expect(notificationIdOf(a)).toMatch(/^[!-~]*$/);
        const [taskId = '', seq, configId = ''] = notificationIdOf(a).split(':');
        const read = [decodeURIComponent(taskId), Number(seq), decodeURIComponent(configId)];
        expect(read).toEqual([a.taskId, a.seq, a.configId]);
        const same = JSON.stringify(a) === JSON.stringify(b);
        expect(notificationIdOf(a) === notificationIdOf(b)).toBe(same);
      }),
    );
  });
});
