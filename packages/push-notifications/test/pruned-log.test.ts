import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { callOf, createPushWorld, created, scope, tick, type PushWorld } from './support.js';
import { startWebhook } from './webhook.js';

let webhook: Awaited<ReturnType<typeof startWebhook>>;
let world: PushWorld;

beforeEach(async () => {
  webhook = await startWebhook();
  world = createPushWorld();
});

afterEach(async () => {
  await world.close();
  await webhook.close();
});

const find = (): ReturnType<PushWorld['database']['pushQueue']['list']> =>
  world.database.pushQueue.list({ taskId: 't', limit: 10 });

/** Looked at again every few milliseconds. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5));
}

async function register(id: string): Promise<void> {
  const config = { tenant: '', id, taskId: 't', url: webhook.url, token: '', authentication: undefined };
  await world.store.save('t', callOf(), config);
}

/** Takes the log of the task, as retention does once it has ended. */
async function prune(version: number): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, 2));
  const tasks = [{ taskId: 't', version, snapshot: '{}' }];
  return (await world.database.retention.compact({ tasks, endedForMs: 0, maxEvents: 100 })).events;
}

test('a webhook that an operator enables again after its events were pruned has nothing to come', async () => {
  const delivery = await world.replica('a');
  await world.createTask('t', [created('t')]);
  await register('hook');
  webhook.answerWith(410);
  delivery.delivered({ taskId: 't', scope, rows: await world.append('t', [tick('t', 1)]) });
  await until(async () => (await find())[0]?.status === 'disabled');
  webhook.answerWith(200);
  await world.append('t', [tick('t', 2)], { terminal: true });
  expect(await prune(3)).toBe(3);
  await world.database.pushQueue.retry({ taskId: 't' });
  delivery.registered('t');
  await until(async () => (await find())[0]?.position === 3);
  expect(webhook.received).toHaveLength(1);
});

test('a webhook that is registered for a pruned task has nothing to come', async () => {
  const delivery = await world.replica('a');
  await world.createTask('t', [created('t')]);
  await world.append('t', [tick('t', 1)], { terminal: true });
  expect(await prune(2)).toBe(2);
  await register('late');
  delivery.registered('t');
  await delivery.drained();
  expect(await find()).toMatchObject([{ position: 2 }]);
  expect(webhook.received).toEqual([]);
});
