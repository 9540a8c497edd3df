import { encodeEvent } from '@a2a-cluster/core';
import type { Task } from '@a2a-js/sdk';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { PushDelivery } from '../src/index.js';
import {
  callOf,
  created,
  createPushWorld,
  indexOf,
  QUICK,
  said,
  scope,
  tick,
  type PushWorld,
} from './support.js';
import { startWebhook, type Webhook } from './webhook.js';

describe('the push delivery', () => {
  let webhook: Webhook;
  let world: PushWorld;

  beforeEach(async () => {
    webhook = await startWebhook();
    world = createPushWorld();
  });

  afterEach(async () => {
    await world.close();
    await webhook.close();
  });

  const register = async (
    taskId: string,
    more: { path?: string; token?: string; version?: string; id?: string; url?: string } = {},
  ): Promise<void> =>
    world.store.save(taskId, callOf(more.version), {
      ...{ tenant: '', id: more.id ?? '', taskId, url: (more.url ?? webhook.url) + (more.path ?? '') },
      ...{ token: more.token ?? '', authentication: undefined },
    });

  /** Appends and tells a replica, as a commit does. */
  const commit = async (
    delivery: PushDelivery,
    ...[taskId, events, how]: Parameters<PushWorld['append']>
  ): Promise<void> => delivery.delivered({ taskId, scope, rows: await world.append(taskId, events, how) });

  const indexes = (): unknown[] => webhook.received.map(({ body }) => indexOf(body));

  /** Looks again whenever the webhook got something, or a moment passed. */
  const until = async (holds: () => Promise<boolean> | boolean): Promise<void> => {
    const end = performance.now() + 8_000;
    while (!(await holds())) {
      if (performance.now() > end)
        throw new Error(
          `not within 8 s: ${JSON.stringify(await world.database.pushQueue.list({ limit: 10 }))}`,
        );
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };

  const rows = (): ReturnType<PushWorld['database']['pushQueue']['list']> =>
    world.database.pushQueue.list({ taskId: 't', limit: 100 });

  test('sends every event after the registration but user messages, in order, as it stands in the log', async () => {
    const delivery = await world.replica('a');
    await world.createTask('t', [created('t'), tick('t', 0)]);
    await register('t', { token: 'secret', id: 'hook' });
    await commit(delivery, 't', [tick('t', 1), said('t'), tick('t', 2)]);
    await commit(delivery, 't', [tick('t', 3)]);
    await until(() => webhook.received.length === 3);
    const expected = [tick('t', 1), tick('t', 2), tick('t', 3)].map(encodeEvent);
    expect(webhook.received.map(({ text }) => text)).toEqual(expected);
    expect(webhook.received.map(({ headers }) => headers['a2a-notification-id'])).toEqual([
      't:3:hook',
      't:5:hook',
      't:6:hook',
    ]);
    expect(webhook.received[0]?.headers).toMatchObject({
      'x-a2a-notification-token': 'secret',
      'content-type': expect.stringContaining('application/a2a+json'),
    });
  });

  test('sends what a task begins with to a webhook that was registered before it was there', async () => {
    const delivery = await world.replica('a');
    await register('t');
    await world.createTask('t', [created('t'), tick('t', 1)]);
    delivery.delivered({ taskId: 't', scope, rows: await world.append('t', [tick('t', 2)]) });
    await until(() => webhook.received.length === 3);
    expect(indexes()).toEqual([undefined, 1, 2]);
  });

  test('keeps the order of many commits, with few statements', async () => {
    const settle = jest.spyOn(world.database.pushQueue, 'settle');
    const claim = jest.spyOn(world.database.pushQueue, 'claimOf');
    const delivery = await world.replica('a');
    await world.createTask('t');
    await register('t');
    for (let index = 0; index < 100; index += 1) await commit(delivery, 't', [tick('t', index)]);
    await until(() => webhook.received.length === 100);
    expect(indexes()).toEqual(Array.from({ length: 100 }, (_, index) => index));
    await delivery.drained();
    expect((await rows()).map(({ position, version }) => [position, version])).toEqual([[101, 101]]);
    expect(claim.mock.calls.length + settle.mock.calls.length).toBeLessThan(60);
  });

  test('returns at once while a webhook hangs, and other webhooks go on', async () => {
    const delivery = await world.replica('a', { ...QUICK, attemptTimeoutMs: 5_000, claimTtlMs: 15_000 });
    await world.createTask('slow');
    await world.createTask('quick');
    const other = await startWebhook();
    await register('slow');
    await register('quick', { url: other.url });
    const held = webhook.hold();
    await commit(delivery, 'slow', [tick('slow', 1), tick('slow', 2)]);
    await webhook.count(1);
    await commit(delivery, 'quick', [tick('quick', 1)]);
    await other.count(1);
    expect(webhook.received).toHaveLength(1);
    held.release();
    await webhook.count(2);
    expect(indexes()).toEqual([1, 2]);
    await other.close();
  });

  test('a webhook that hangs delays no other webhook of the same task', async () => {
    const delivery = await world.replica('a', { ...QUICK, attemptTimeoutMs: 300, pollIntervalMs: 10_000 });
    const other = await startWebhook();
    webhook.hold();
    for (let task = 0; task < 6; task += 1) {
      await world.createTask(`t${task}`);
      await register(`t${task}`, { id: 'hanging' });
      await register(`t${task}`, { id: 'well', url: other.url });
    }
    let longestMs = 0;
    for (let round = 1; round <= 30; round += 1) {
      const from = performance.now();
      for (let task = 0; task < 6; task += 1) await commit(delivery, `t${task}`, [tick(`t${task}`, round)]);
      await other.count(6 * round);
      longestMs = Math.max(longestMs, performance.now() - from);
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    expect(longestMs).toBeLessThan(500);
    await other.close();
  });

  test.each([500, 503, 408, 425, 429])(
    'tries again after %i, with the same id and body, and in order',
    async (status) => {
      const delivery = await world.replica('a');
      await world.createTask('t');
      await register('t', { id: 'hook' });
      let left = 3;
      webhook.answerWith((response) => response.writeHead(left-- > 0 ? status : 200).end());
      await commit(delivery, 't', [tick('t', 1), tick('t', 2)]);
      await until(() => webhook.received.length === 5);
      expect(indexes()).toEqual([1, 1, 1, 1, 2]);
      expect(
        new Set(webhook.received.slice(0, 4).map(({ headers }) => headers['a2a-notification-id'])).size,
      ).toBe(1);
      expect(new Set(webhook.received.slice(0, 4).map(({ text }) => text)).size).toBe(1);
      await until(async () => (await rows())[0]?.position === 3);
      expect((await rows())[0]).toMatchObject({ status: 'active', attempts: 0, lastError: null });
    },
  );

  test('waits as long as the webhook asks for', async () => {
    const delivery = await world.replica('a');
    await world.createTask('t');
    await register('t');
    webhook.answerWith(429, { 'Retry-After': '3600' });
    await commit(delivery, 't', [tick('t', 1)]);
    await until(async () => (await rows())[0]?.attempts === 1);
    const [row] = await rows();
    expect(row?.dueInMs).toBeGreaterThan(3_590_000);
    expect(row).toMatchObject({ holder: null, lastError: expect.stringContaining('429') });
  });

  test.each([400, 404, 301])(
    'gives an event up at once after %i, keeps it, and goes on with the next',
    async (status) => {
      const delivery = await world.replica('a');
      await world.createTask('t');
      await register('t');
      let left = 1;
      webhook.answerWith((response) => response.writeHead(left-- > 0 ? status : 200).end());
      await commit(delivery, 't', [tick('t', 1), tick('t', 2)]);
      await until(() => webhook.received.length === 2);
      expect(indexes()).toEqual([1, 2]);
      const [letter] = await world.database.pushQueue.listDeadLetters({ limit: 10 });
      expect(letter).toMatchObject({
        taskId: 't',
        seq: 2,
        attempts: 1,
        error: expect.stringContaining(String(status)),
      });
    },
  );

  test('gives an event up that failed for too long, and sends it once more when an operator asks for it', async () => {
    const delivery = await world.replica('a', { ...QUICK, maxAgeMs: 100 });
    await world.createTask('t');
    await register('t', { id: 'hook' });
    webhook.answerWith(500);
    await commit(delivery, 't', [tick('t', 1)]);
    const letters = (): ReturnType<PushWorld['database']['pushQueue']['listDeadLetters']> =>
      world.database.pushQueue.listDeadLetters({ limit: 10 });
    await until(async () => (await letters()).length === 1);
    expect((await letters())[0]).toMatchObject({
      seq: 2,
      status: 'dead',
      error: expect.stringContaining('500'),
    });
    webhook.answerWith(200);
    expect(await world.database.pushQueue.retry({ taskId: 't' })).toMatchObject({ deadLetters: 1 });
    await until(async () => (await letters())[0]?.status === 'delivered');
    const ids = webhook.received.map(({ headers }) => headers['a2a-notification-id']);
    expect(new Set(ids)).toEqual(new Set(['t:2:hook']));
    expect(new Set(webhook.received.map(({ text }) => text)).size).toBe(1);
  });

  test('sends nothing more to a webhook that is gone, until it is registered anew', async () => {
    const delivery = await world.replica('a');
    await world.createTask('t');
    await register('t', { id: 'hook' });
    webhook.answerWith(410);
    await commit(delivery, 't', [tick('t', 1), tick('t', 2)]);
    await until(async () => (await rows())[0]?.status === 'disabled');
    webhook.answerWith(200);
    await commit(delivery, 't', [tick('t', 3)]);
    await delivery.drained();
    expect(indexes()).toEqual([1]);
    await register('t', { id: 'hook' });
    await commit(delivery, 't', [tick('t', 4)]);
    await until(() => webhook.received.length === 2);
    expect(indexes()).toEqual([1, 4]);
  });

  test('takes over what another replica left, at once when that one closes', async () => {
    const first = await world.replica('a', { ...QUICK, attemptTimeoutMs: 10_000, claimTtlMs: 60_000 });
    await world.createTask('t');
    await register('t');
    const held = webhook.hold();
    await commit(first, 't', [tick('t', 1), tick('t', 2)]);
    await webhook.count(1);
    await first.close({ graceMs: 10 });
    held.release();
    await world.replica('b');
    await until(() => webhook.received.length === 3);
    expect(indexes()).toEqual([1, 1, 2]);
  });

  test('takes over when the claim of a dead replica has run out, and not before', async () => {
    await world.createTask('t');
    await register('t');
    await world.append('t', [tick('t', 1)]);
    const { claimed } = await world.database.pushQueue.claimOf({
      holder: 'dead',
      ttlMs: 300,
      taskIds: ['t'],
    });
    expect(claimed).toHaveLength(1);
    const from = performance.now();
    await world.replica('b');
    await webhook.count(1);
    expect(performance.now() - from).toBeGreaterThan(250);
  });

  test('three replicas at once send each event once', async () => {
    // An attempt that ran out of time would be made again.
    const patient = { ...QUICK, attemptTimeoutMs: 10_000, claimTtlMs: 30_000 };
    const replicas = await Promise.all(['a', 'b', 'c'].map((holder) => world.replica(holder, patient)));
    const tasks = Array.from({ length: 20 }, (_, index) => `t${index}`);
    for (const taskId of tasks) {
      await world.createTask(taskId);
      await register(taskId);
    }
    for (let round = 0; round < 5; round += 1)
      for (const [index, taskId] of tasks.entries()) {
        const delivery = replicas[(index + round) % 3];
        if (delivery) await commit(delivery, taskId, [tick(taskId, round)], { terminal: round === 4 });
      }
    await until(() => webhook.received.length >= 100);
    await until(async () => (await world.database.pushQueue.list({ limit: 100 })).length === 0);
    const ids = webhook.received.map(({ headers }) => headers['a2a-notification-id']);
    expect(new Set(ids).size).toBe(100);
    expect(ids).toHaveLength(100);
    for (const taskId of tasks) {
      const own = webhook.received.filter(
        ({ body }) => (body['statusUpdate'] as { taskId: string }).taskId === taskId,
      );
      expect(own.map(({ body }) => indexOf(body))).toEqual([0, 1, 2, 3, 4]);
    }
  });

  test('goes on after a row that cannot be read: it is a dead letter', async () => {
    const delivery = await world.replica('a');
    await world.createTask('t');
    await register('t');
    const read = jest.spyOn(world.database.log, 'readEventsOf');
    read.mockImplementationOnce(async () =>
      (await world.database.log.readEvents({ taskId: 't', after: 1, limit: 10 })).map((row) =>
        row.seq === 2 ? { ...row, payload: '{' } : row,
      ),
    );
    await world.append('t', [tick('t', 1), tick('t', 2)]);
    delivery.registered('t');
    await until(() => webhook.received.length === 1);
    expect(indexes()).toEqual([2]);
    expect(await world.database.pushQueue.listDeadLetters({ limit: 10 })).toMatchObject([{ seq: 2 }]);
  });

  test('goes on when the database answers again', async () => {
    const delivery = await world.replica('a');
    await world.createTask('t');
    await register('t');
    jest.spyOn(world.database.pushQueue, 'claimOf').mockRejectedValueOnce(new Error('away'));
    jest.spyOn(world.database.pushQueue, 'claimDue').mockRejectedValueOnce(new Error('away'));
    jest.spyOn(world.database.log, 'readEventsOf').mockRejectedValueOnce(new Error('away'));
    jest.spyOn(world.database.pushQueue, 'settle').mockRejectedValueOnce(new Error('away'));
    await commit(delivery, 't', [tick('t', 1), tick('t', 2)]);
    await until(async () => (await rows())[0]?.position === 3);
    expect([...new Set(indexes())]).toEqual([1, 2]);
  });

  test('asks a log that cannot be read again later and later, and goes on when it can', async () => {
    const delivery = await world.replica('a');
    await world.createTask('t');
    await register('t');
    const away = async (): Promise<never> => Promise.reject(new Error('away'));
    const many = jest.spyOn(world.database.log, 'readEventsOf').mockImplementation(away);
    await world.append('t', [tick('t', 1)]);
    delivery.registered('t');
    await until(async () => ((await rows())[0]?.attempts ?? 0) >= 3);
    expect(many.mock.calls.length).toBeLessThan(8);
    many.mockRestore();
    await until(() => webhook.received.length === 1);
    expect(indexes()).toEqual([1]);
  });

  test('costs a task without webhooks one statement in a second, and no send', async () => {
    const claim = jest.spyOn(world.database.pushQueue, 'claimOf');
    const delivery = await world.replica('a');
    await world.createTask('t');
    await commit(delivery, 't', [tick('t', 1)]);
    await delivery.drained();
    await commit(delivery, 't', [tick('t', 2)]);
    await commit(delivery, 't', [said('t')]);
    await delivery.drained();
    expect([claim.mock.calls.length, webhook.received.length]).toEqual([1, 0]);
  });

  test('sends webhooks of protocol 0.3 the whole task as of each event, and keeps the body for every attempt', async () => {
    const delivery = await world.replica('a');
    await register('t', { version: '0.3' });
    await world.createTask('t', [created('t'), tick('t', 1), said('t'), tick('t', 2)]);
    let left = 2;
    webhook.answerWith((response) => response.writeHead(left-- > 0 ? 500 : 200).end());
    const store = jest.spyOn(world.database.pushQueue, 'storeBody');
    await commit(delivery, 't', [tick('t', 3)], { terminal: true });
    await until(() => webhook.received.length === 6);
    const tasks = webhook.received.map(({ body }) => body as unknown as Task & { kind: string });
    expect(tasks.map(({ kind, id, metadata }) => [kind, id, metadata?.['index']])).toEqual([
      ...[0, 0, 0].map(() => ['task', 't', undefined]),
      ...[1, 2, 3].map((index) => ['task', 't', index]),
    ]);
    expect(store).toHaveBeenCalledTimes(4);
    await until(async () => (await rows())[0]?.status === 'done');
  });

  test('never has more attempts under way than it may, in all and per origin', async () => {
    const limits = {
      ...QUICK,
      concurrency: 6,
      concurrencyPerOrigin: 3,
      attemptTimeoutMs: 5_000,
      claimTtlMs: 15_000,
    };
    const others = await Promise.all([startWebhook(), startWebhook()]);
    const hooks = [webhook, ...others];
    for (const hook of hooks) hook.hold();
    for (let index = 0; index < 30; index += 1) {
      await world.createTask(`t${index}`);
      await register(`t${index}`, { url: hooks[index % 3]?.url ?? '' });
      await world.append(`t${index}`, [tick(`t${index}`, 1)]);
    }
    const delivery = await world.replica('a', limits);
    await until(() => delivery.status().inFlight === 6);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(delivery.status().inFlight).toBe(6);
    for (const hook of hooks) expect(hook.received.length).toBeLessThanOrEqual(3);
    await Promise.all(others.map((hook) => hook.close()));
  });
});
