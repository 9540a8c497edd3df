import { randomUUID } from 'node:crypto';
import { encodeEvent, type EventRow, type LogMethod, type Scope, type TaskEvent } from '@a2a-cluster/core';
import { createMemoryDatabase, type Database } from '@a2a-cluster/db';
import { AgentCard, Role, TaskState, type Message, type StreamResponse, type Task } from '@a2a-js/sdk';
import { ServerCallContext, type PushNotificationSender } from '@a2a-js/sdk/server';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { createPushConfigStore, createPushDelivery, type PushConfigStore } from '../src/index.js';
import { startWebhook, type Webhook } from './webhook.js';

const scope: Scope = { tenant: 'north', owner: 'team-1' };
const ownerResolver = (): string => 'team-1';
const callOf = (requestedVersion = '1.0'): ServerCallContext =>
  new ServerCallContext({ tenant: 'north', requestedVersion });

const tick = (taskId: string, index: number): TaskEvent => ({
  kind: 'statusUpdate',
  data: {
    ...{ taskId, contextId: 'c', metadata: { index } },
    status: { state: TaskState.TASK_STATE_WORKING, message: undefined, timestamp: undefined },
  },
});

const said = (taskId: string): TaskEvent => {
  const data: Message = {
    ...{
      messageId: randomUUID(),
      contextId: 'c',
      taskId,
      role: Role.ROLE_USER,
      parts: [],
      metadata: undefined,
    },
    ...{ extensions: [], referenceTaskIds: [] },
  };
  return { kind: 'message', data };
};

const created = (id: string): TaskEvent => ({
  kind: 'task',
  data: { id, contextId: 'c', status: undefined, artifacts: [], history: [], metadata: undefined },
});

const rowsOf = (taskId: string, events: readonly TaskEvent[], after = 0): EventRow[] =>
  events.map((event, index) => ({
    ...{ taskId, seq: after + index + 1, kind: event.kind, payload: encodeEvent(event) },
    ...{ messageId: null, holder: 'r', epoch: 1 },
  }));

const indexOf = (body: Record<string, unknown>): unknown =>
  (body['statusUpdate'] as { metadata?: { index?: unknown } } | undefined)?.metadata?.index;

describe('the push delivery', () => {
  let webhook: Webhook;
  let database: Database;
  let store: PushConfigStore;
  let logged: Record<string, unknown>[];
  const write: LogMethod = (fields) => void logged.push(fields);
  const logger = { debug: write, info: write, warn: write, error: write };

  beforeAll(() => {
    // The SDK's sender writes its successes and failures there.
    jest.spyOn(console, 'info').mockImplementation(() => {});
    jest.spyOn(console, 'error').mockImplementation(() => {});
  });

  afterAll(() => {
    jest.restoreAllMocks();
  });

  beforeEach(async () => {
    logged = [];
    webhook = await startWebhook();
    database = createMemoryDatabase();
    store = createPushConfigStore({ database, ownerResolver, allowPrivate: true });
  });

  afterEach(() => webhook.close());

  const register = (
    taskId: string,
    more: { path?: string; token?: string; version?: string } = {},
  ): Promise<void> =>
    store.save(taskId, callOf(more.version), {
      ...{ tenant: '', id: '', taskId, url: webhook.url + (more.path ?? ''), token: more.token ?? '' },
      authentication: undefined,
    });

  test('sends every event but user messages, in order, as it stands in the log', async () => {
    const delivery = createPushDelivery({ store, database, logger });
    await register('t', { token: 'secret' });
    const events = [created('t'), tick('t', 1), said('t'), tick('t', 2)];
    delivery.delivered({ taskId: 't', scope, rows: rowsOf('t', events) });
    delivery.delivered({ taskId: 't', scope, rows: rowsOf('t', [tick('t', 3)], 4) });
    await delivery.drained();
    const bodies = webhook.received.map(({ body }) => body);
    const expected = [created('t'), tick('t', 1), tick('t', 2), tick('t', 3)];
    expect(bodies).toEqual(expected.map((event) => JSON.parse(encodeEvent(event))));
    expect(webhook.received[0]?.headers).toMatchObject({
      'x-a2a-notification-token': 'secret',
      'content-type': expect.stringContaining('application/a2a+json'),
    });
  });

  test('keeps the order of many commits, and asks for the configs once per batch', async () => {
    const load = jest.spyOn(database.pushConfigs, 'loadMany');
    const delivery = createPushDelivery({ store, database, logger });
    await register('t');
    for (let index = 0; index < 100; index += 1)
      delivery.delivered({ taskId: 't', scope, rows: rowsOf('t', [tick('t', index)], index) });
    await delivery.drained();
    expect(webhook.received.map(({ body }) => indexOf(body))).toEqual(
      Array.from({ length: 100 }, (_, index) => index),
    );
    expect(load.mock.calls.length).toBeLessThan(4);
  });

  test('sends to the webhooks of the task and its scope, and to no others', async () => {
    const delivery = createPushDelivery({ store, database, logger });
    await register('t', { path: '/a' });
    await register('t', { path: '/b' });
    await register('u', { path: '/other' });
    delivery.delivered({ taskId: 't', scope, rows: rowsOf('t', [tick('t', 1)]) });
    delivery.delivered({
      taskId: 'u',
      scope: { tenant: 'north', owner: 'bob' },
      rows: rowsOf('u', [tick('u', 1)]),
    });
    delivery.delivered({
      taskId: 'u',
      scope: { tenant: '', owner: 'team-1' },
      rows: rowsOf('u', [tick('u', 1)]),
    });
    await delivery.drained();
    expect(webhook.received.map(({ path }) => path).sort()).toEqual(['/hook/a', '/hook/b']);
  });

  test('returns at once while a webhook hangs, and other tasks go on', async () => {
    const delivery = createPushDelivery({ store, database, logger });
    await register('slow');
    await register('quick', { path: '/quick' });
    const held = webhook.hold();
    delivery.delivered({ taskId: 'slow', scope, rows: rowsOf('slow', [tick('slow', 1), tick('slow', 2)]) });
    await webhook.count(1);
    delivery.delivered({ taskId: 'quick', scope, rows: rowsOf('quick', [tick('quick', 1)]) });
    await webhook.count(2);
    let drained = false;
    const draining = delivery.drained().then(() => (drained = true));
    expect(webhook.received.map(({ path }) => path)).toEqual(['/hook', '/hook/quick']);
    expect(drained).toBe(false);
    held.release();
    await draining;
    expect(webhook.received.map(({ body }) => indexOf(body))).toEqual([1, 1, 2]);
  });

  test('goes on after a webhook that fails or is gone', async () => {
    const delivery = createPushDelivery({ store, database, logger });
    await register('t');
    webhook.answerWith(500);
    delivery.delivered({ taskId: 't', scope, rows: rowsOf('t', [tick('t', 1), tick('t', 2)]) });
    await delivery.drained();
    expect(webhook.received).toHaveLength(2);
    await webhook.close();
    delivery.delivered({ taskId: 't', scope, rows: rowsOf('t', [tick('t', 3)], 2) });
    await delivery.drained();
  });

  test('goes on after a sender that throws, a row that cannot be read and a database that fails', async () => {
    const sent: unknown[] = [];
    const sender: PushNotificationSender = {
      send: (response: StreamResponse) => {
        sent.push(response.payload?.$case);
        throw new Error('no');
      },
    };
    const delivery = createPushDelivery({ store, database, sender, logger });
    await register('t');
    const [first, second, third] = rowsOf('t', [tick('t', 1), tick('t', 2), tick('t', 3)]);
    if (!first || !second || !third) throw new Error('no rows');
    delivery.delivered({ taskId: 't', scope, rows: [first, { ...second, payload: '{' }, third] });
    await delivery.drained();
    expect(sent).toEqual(['statusUpdate', 'statusUpdate']);
    jest.spyOn(database.pushConfigs, 'loadMany').mockRejectedValueOnce(new Error('away'));
    delivery.delivered({ taskId: 't', scope, rows: [first] });
    await delivery.drained();
    delivery.delivered({ taskId: 't', scope, rows: [first] });
    await delivery.drained();
    expect(sent).toHaveLength(3);
    expect(logged.map(({ seq, reason }) => [seq, reason])).toEqual([
      [1, 'no'],
      [2, expect.stringContaining('JSON')],
      [3, 'no'],
      [undefined, 'away'],
      [1, 'no'],
    ]);
  });

  test("hands a user's sender a context of the task's own scope", async () => {
    const seen: unknown[] = [];
    const sender: PushNotificationSender = {
      send: async (_response, context) => void seen.push([context.tenant, await store.load('t', context)]),
    };
    const delivery = createPushDelivery({ store, database, sender, logger });
    await register('t');
    delivery.delivered({ taskId: 't', scope, rows: rowsOf('t', [tick('t', 1)]) });
    await delivery.drained();
    expect(seen).toEqual([['north', [expect.objectContaining({ url: webhook.url })]]]);
  });

  test('costs a task without webhooks one query and no send', async () => {
    const load = jest.spyOn(database.pushConfigs, 'loadMany');
    const send = jest.fn<PushNotificationSender['send']>();
    const delivery = createPushDelivery({ store, database, sender: { send }, logger });
    delivery.delivered({ taskId: 't', scope, rows: rowsOf('t', [said('t')]) });
    delivery.delivered({ taskId: 't', scope, rows: rowsOf('t', [tick('t', 1), tick('t', 2)], 1) });
    await delivery.drained();
    expect([load.mock.calls.length, send.mock.calls.length]).toEqual([1, 0]);
  });

  test('sends nothing for a card without push notifications', async () => {
    const load = jest.spyOn(database.pushConfigs, 'loadMany');
    const delivery = createPushDelivery({ store, database, logger, card: AgentCard.fromJSON({}) });
    delivery.delivered({ taskId: 't', scope, rows: rowsOf('t', [tick('t', 1)]) });
    await delivery.drained();
    expect(load).not.toHaveBeenCalled();
  });

  test('drops the oldest of what waits too long, never the newest, and says so', async () => {
    const [row] = rowsOf('t', [tick('t', 0)]);
    const limits = { perTaskBytes: (row?.payload.length ?? 0) * 4, totalBytes: 1e9 };
    const delivery = createPushDelivery({ store, database, logger, limits });
    await register('t');
    const held = webhook.hold();
    delivery.delivered({ taskId: 't', scope, rows: rowsOf('t', [tick('t', 0)]) });
    await webhook.count(1);
    for (let index = 1; index < 9; index += 1)
      delivery.delivered({ taskId: 't', scope, rows: rowsOf('t', [tick('t', index)], index) });
    held.release();
    await delivery.drained();
    expect(webhook.received.map(({ body }) => indexOf(body))).toEqual([0, 5, 6, 7, 8]);
    expect(logged).toContainEqual({ taskId: 't', dropped: 1 });
  });

  test('sends webhooks of protocol 0.3 the whole task as of each event', async () => {
    const delivery = createPushDelivery({ store, database, logger });
    await register('t', { version: '0.3' });
    const events = [created('t'), tick('t', 1), said('t'), tick('t', 2)];
    const rows = rowsOf('t', events);
    await database.journal.createTask({
      ...{ taskId: 't', scope, contextId: 'c', holder: 'r', ttlMs: 60_000, state: 'TASK_STATE_WORKING' },
      ...{ statusTimestamp: null, terminal: false, clearsPending: true, snapshot: null },
      events: rows.map(({ kind, payload, seq }) => ({ kind, payload, writeId: `w${seq}` })),
    });
    delivery.delivered({ taskId: 't', scope, rows });
    await delivery.drained();
    const tasks = webhook.received.map(({ body }) => body as unknown as Task & { kind: string });
    expect(tasks.map(({ kind, id, metadata }) => [kind, id, metadata?.['index']])).toEqual([
      ['task', 't', undefined],
      ['task', 't', 1],
      ['task', 't', 2],
    ]);
    expect(tasks.map(({ history }) => history?.length ?? 0)).toEqual([0, 0, 1]);
  });
});
