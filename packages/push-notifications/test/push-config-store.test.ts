import { createMemoryDatabase, createDatabase, type Database } from '@a2a-cluster/db';
import { availableProviders, createTestDatabase } from '@a2a-cluster/testing';
import type { TaskPushNotificationConfig } from '@a2a-js/sdk';
import { RequestMalformedError, TaskNotFoundError } from '@a2a-js/sdk/errors';
import { ServerCallContext } from '@a2a-js/sdk/server';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createPushConfigStore, type PushConfigStore } from '../src/index.js';

const callOf = (
  userName: string,
  more: { tenant?: string; requestedVersion?: string } = {},
): ServerCallContext =>
  new ServerCallContext({
    ...{ tenant: '', requestedVersion: '1.0', user: { isAuthenticated: true, userName } },
    ...more,
  });

const config = (more: Partial<TaskPushNotificationConfig> = {}): TaskPushNotificationConfig => ({
  ...{ tenant: '', id: '', taskId: '', url: 'http://127.0.0.1:9/hook', token: '', authentication: undefined },
  ...more,
});

async function open(provider: 'memory' | ReturnType<typeof availableProviders>[number]) {
  if (provider === 'memory') return { database: createMemoryDatabase(), close: async () => {} };
  const made = await createTestDatabase({ provider });
  const database = await createDatabase({ url: made.url, ttlMs: 60_000, poolSize: 2 });
  return { database, close: () => database.close().then(() => made.drop()) };
}

describe.each(['memory' as const, ...availableProviders()])('the push config store on %s', (provider) => {
  const alice = callOf('alice');
  let database: Database;
  let close: () => Promise<void>;
  let store: PushConfigStore;
  let taskId: string;
  let tasks = 0;

  beforeAll(async () => {
    ({ database, close } = await open(provider));
    store = createPushConfigStore({ database, allowPrivate: true });
  });

  afterAll(() => close());

  beforeEach(() => {
    taskId = `task-${(tasks += 1)}`;
  });

  test('gives an empty config an id in place, and keeps all it was given', async () => {
    const authentication = { scheme: 'Bearer', credentials: 's3cret' };
    const given = config({ token: 'tök\u00e9n', authentication, url: 'https://127.0.0.1/ü?q=€' });
    await store.save(taskId, alice, given);
    expect(given.id).not.toBe('');
    expect(await store.load(taskId, alice)).toEqual([{ ...given, taskId }]);
  });

  test('keeps several configs in the order of their first save and replaces one of the same id', async () => {
    for (const id of ['b', 'a', 'c']) await store.save(taskId, alice, config({ id }));
    await store.save(taskId, alice, config({ id: 'b', token: 'new' }));
    const loaded = await store.load(taskId, alice);
    expect(loaded.map(({ id, token }) => [id, token])).toEqual([
      ['b', 'new'],
      ['a', ''],
      ['c', ''],
    ]);
  });

  test('remembers the protocol version of the caller that registered it', async () => {
    await store.save(taskId, alice, config({ id: 'new' }));
    await store.save(taskId, callOf('alice', { requestedVersion: '0.3' }), config({ id: 'old' }));
    const loaded = await store.loadWithMetadata(taskId, alice);
    expect(loaded.map((entry) => [entry.config.id, entry.wireVersion])).toEqual([
      ['new', '1.0'],
      ['old', '0.3'],
    ]);
  });

  test("treats another owner's or tenant's config as if it did not exist", async () => {
    await store.save(taskId, alice, config({ id: 'x', token: 'alices' }));
    for (const other of [callOf('bob'), callOf('Alice'), callOf('alice', { tenant: 'north' })]) {
      expect(await store.load(taskId, other)).toEqual([]);
      await store.delete(taskId, other, 'x');
      await expect(store.save(taskId, other, config({ id: 'x' }))).rejects.toBeInstanceOf(TaskNotFoundError);
    }
    expect((await store.load(taskId, alice)).map(({ token }) => token)).toEqual(['alices']);
  });

  test('deletes by id, and what is not there without an error', async () => {
    for (const id of ['x', 'y', taskId]) await store.save(taskId, alice, config({ id }));
    await store.delete(taskId, alice, 'x');
    await store.delete(taskId, alice, 'x');
    await store.delete(taskId, alice, 'x\u0000');
    expect((await store.load(taskId, alice)).map(({ id }) => id)).toEqual(['y', taskId]);
    await store.delete(taskId, alice);
    expect((await store.load(taskId, alice)).map(({ id }) => id)).toEqual(['y']);
  });

  test('takes fifty configs for a task, and a fifty-first only in place of one of them', async () => {
    for (let index = 0; index < 50; index += 1) await store.save(taskId, alice, config({ id: `c${index}` }));
    const one = store.save(taskId, alice, config({ id: 'c50' }));
    await expect(one).rejects.toThrow(/at most 50/);
    await store.save(taskId, alice, config({ id: 'c49', token: 'new' }));
    expect(await store.load(taskId, alice)).toHaveLength(50);
    await store.delete(taskId, alice, 'c0');
    await store.save(taskId, alice, config({ id: 'c50' }));
  });

  test('tells of every config that was saved, and of none that was refused', async () => {
    const saved: string[] = [];
    const telling = createPushConfigStore({ database, onSaved: (one) => void saved.push(one.taskId) });
    await telling.save(taskId, alice, config({ url: 'https://203.0.114.7/hook' }));
    await expect(telling.save(taskId, alice, config())).rejects.toBeInstanceOf(RequestMalformedError);
    expect(saved).toEqual([taskId]);
  });

  test('refuses what cannot be stored or sent, and stores nothing of it', async () => {
    const refused = [
      config({ id: 'x ' }),
      config({ url: 'http://127.0.0.1/\u0000' }),
      config({ url: 'gopher://127.0.0.1/' }),
      config({ token: 'a\r\nX-Evil: 1' }),
      config({ token: '€' }),
      config({ authentication: { scheme: 'Bearer', credentials: 'a\u0000' } }),
    ];
    for (const each of refused)
      await expect(store.save(taskId, alice, each)).rejects.toBeInstanceOf(RequestMalformedError);
    await expect(store.save('t ', alice, config())).rejects.toBeInstanceOf(TaskNotFoundError);
    await expect(store.save(taskId, callOf('eve '), config())).rejects.toBeInstanceOf(RequestMalformedError);
    expect(await store.load(taskId, alice)).toEqual([]);
    expect(await store.load('t\u0000', alice)).toEqual([]);
  });
});

describe('the push config store', () => {
  const database = createMemoryDatabase();
  const alice = callOf('alice');
  const scope = { tenant: '', owner: 'alice' };

  test('refuses private addresses unless they are allowed', async () => {
    const store = createPushConfigStore({ database });
    for (const url of [
      'http://127.0.0.1/',
      'http://localhost/',
      'http://[::ffff:10.0.0.1]/',
      'http://2130706433/',
    ])
      await expect(store.save('t', alice, config({ url }))).rejects.toMatchObject({
        name: 'RequestMalformedError',
        metadata: { reason: 'WEBHOOK_ADDRESS_REFUSED' },
      });
    expect(await store.load('t', alice)).toEqual([]);
  });

  test('skips a row that cannot be read', async () => {
    const store = createPushConfigStore({ database, allowPrivate: true });
    await store.save('torn', alice, config({ id: 'good' }));
    await database.pushConfigs.save({
      ...{ taskId: 'torn', configId: 'bad', scope },
      payload: 'x',
      wireVersion: '1.0',
      origin: 'http://127.0.0.1:9',
    });
    expect((await store.load('torn', alice)).map(({ id }) => id)).toEqual(['good']);
  });
});
