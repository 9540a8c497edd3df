import { isClusterError, type LogMethod } from '@a2a-cluster/core';
import { availableProviders } from '@a2a-cluster/testing';
import { ListTasksRequest, TaskState, type Task } from '@a2a-js/sdk';
import { RequestMalformedError } from '@a2a-js/sdk/errors';
import { InMemoryTaskStore, ServerCallContext, type TaskStore } from '@a2a-js/sdk/server';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createSdkTaskStore, isStorableScope, scopeOf, storableScopeOf } from '../src/index.js';
import { chunk, emptyTask, openDatabase, seed, status, type OpenDatabase } from './support.js';

const callOf = (userName: string, tenant = ''): ServerCallContext =>
  new ServerCallContext({ tenant, user: { isAuthenticated: true, userName } });

const request = (more: Partial<ListTasksRequest> = {}): ListTasksRequest => ({
  ...ListTasksRequest.fromJSON({}),
  ...more,
});

const message = (messageId: string) => ({
  ...{ messageId, contextId: '', taskId: '', role: 2, parts: [], metadata: undefined },
  ...{ extensions: [], referenceTaskIds: [] },
});

const { TASK_STATE_WORKING, TASK_STATE_INPUT_REQUIRED, TASK_STATE_SUBMITTED } = TaskState;

/** Tasks of one owner: equal times, no time, two contexts, several states. */
const tasks: Task[] = [
  emptyTask('t-a', { contextId: 'c1', status: status(TASK_STATE_WORKING, '2026-01-01T00:00:00.000Z') }),
  emptyTask('t-b', { contextId: 'c1', status: status(TASK_STATE_WORKING, '2026-01-03T00:00:00.000Z') }),
  emptyTask('t-c', {
    contextId: 'c2',
    status: status(TASK_STATE_INPUT_REQUIRED, '2026-01-03T00:00:00.000Z'),
  }),
  emptyTask('t-d', { contextId: 'c2', status: status(TASK_STATE_SUBMITTED) }),
  emptyTask('t-e', { contextId: 'c1', status: status(TASK_STATE_WORKING, '2026-01-02T00:00:00.000Z') }),
  emptyTask('t-f', { contextId: 'c1', status: undefined }),
  emptyTask('t|g', {
    contextId: 'c1',
    status: status(TASK_STATE_WORKING, '2026-01-02T12:00:00.000Z'),
    history: ['m1', 'm2', 'm3'].map(message),
  }),
];

describe.each(['memory' as const, ...availableProviders()])("the SDK's task store on %s", (provider) => {
  const alice = callOf('alice', 'north');
  const scope = { tenant: 'north', owner: 'alice' };
  let open: OpenDatabase;
  let store: TaskStore;
  const reference = new InMemoryTaskStore();

  beforeAll(async () => {
    open = await openDatabase(provider);
    store = createSdkTaskStore({ database: open.database });
    for (const first of tasks) {
      const steps = await seed(open.database, {
        scope,
        first,
        more: [chunk(first.id, 'x')],
        snapshotsAt: [1],
      });
      await reference.save(steps.at(-1) ?? first, alice);
    }
    await seed(open.database, { scope: { tenant: 'north', owner: 'bob' }, first: emptyTask('bobs') });
    await seed(open.database, { scope: { tenant: 'south', owner: 'alice' }, first: emptyTask('souths') });
  });

  afterAll(() => open.close());

  test('loads a task of the caller, and of nobody else', async () => {
    expect(await store.load('t-a', alice)).toEqual(await reference.load('t-a', alice));
    expect(await store.load('bobs', callOf('bob', 'north'))).toMatchObject({ id: 'bobs' });
    for (const [id, context] of [
      ['bobs', alice],
      ['souths', alice],
      ['t-a', callOf('alice', 'south')],
      ['t-a', callOf('Alice', 'north')],
      ['t-a', callOf('', 'north')],
      ['t-a ', alice],
      ['t-a\u0000', alice],
      ['', alice],
    ] as const)
      expect(await store.load(id, context)).toBeUndefined();
  });

  test.each<[string, Partial<ListTasksRequest>]>([
    ['everything', {}],
    ['artifacts', { includeArtifacts: true }],
    ['a context', { contextId: 'c2' }],
    ['a state', { status: TASK_STATE_WORKING }],
    ['the state that means any', { status: TaskState.TASK_STATE_UNSPECIFIED }],
    ['a time', { statusTimestampAfter: '2026-01-02T00:00:00.000Z' }],
    ['a time in another form', { statusTimestampAfter: '2026-01-02T01:00:00+01:00' }],
    [
      'all filters',
      { contextId: 'c1', status: TASK_STATE_WORKING, statusTimestampAfter: '2026-01-02T06:00:00Z' },
    ],
    ['an unknown context', { contextId: 'none' }],
    ['a context that cannot be stored', { contextId: 'c1 ' }],
    ['a page that is just full', { pageSize: tasks.length }],
  ])("lists what the SDK's own store lists: %s", async (_what, more) => {
    expect(await store.list(request(more), alice)).toEqual(await reference.list(request(more), alice));
  });

  test.each([1, 2, 3])(
    'pages of %d cover every task once, in order, with the count of all',
    async (pageSize) => {
      const seen: string[] = [];
      let pageToken = '';
      do {
        const page = await store.list(request({ pageSize, pageToken }), alice);
        expect(page).toEqual(await reference.list(request({ pageSize, pageToken }), alice));
        expect(page.totalSize).toBe(tasks.length);
        seen.push(...page.tasks.map((task) => task.id));
        pageToken = page.nextPageToken;
      } while (pageToken !== '');
      expect(seen).toEqual(['t-c', 't-b', 't|g', 't-e', 't-a', 't-f', 't-d']);
    },
  );

  test('goes on after a place whose task is gone', async () => {
    const pageToken = Buffer.from('2026-01-02T00:00:00.001Z|never-was').toString('base64');
    const page = await store.list(request({ pageToken }), alice);
    expect(page.tasks.map((task) => task.id)).toEqual(['t-e', 't-a', 't-f', 't-d']);
  });

  test.each(['x', '', 'a|', 'a|b\u0000', '\u0000|b', 'a|b '].map((text) => [text]))(
    'refuses a page token that holds %j',
    async (text) => {
      const pageToken = Buffer.from(text).toString('base64') || '!';
      await expect(store.list(request({ pageToken }), alice)).rejects.toBeInstanceOf(RequestMalformedError);
    },
  );

  test.each(['fGE', 'fGE=\n', 'fGE=x', 'f!GE=', Buffer.from([0x7c, 0xff]).toString('base64')])(
    'refuses a page token that the decoder would take, and no store made: %j',
    async (pageToken) => {
      await expect(store.list(request({ pageToken }), alice)).rejects.toBeInstanceOf(RequestMalformedError);
    },
  );

  test.each([
    ['in words', 'March 7, 2026'],
    ['without a zone', '2026-01-02T00:00:00'],
    ['in no calendar', '2026-02-30'],
    ['past four digits of a year', '+012026-01-02T00:00:00Z'],
    ['past them by its zone', '9999-12-31T23:59:59-01:00'],
  ])('refuses a time %s', async (_, statusTimestampAfter) => {
    const listed = store.list(request({ statusTimestampAfter }), alice);
    await expect(listed).rejects.toBeInstanceOf(RequestMalformedError);
  });

  test('cuts the history as asked', async () => {
    const lengthOf = async (historyLength?: number): Promise<number | undefined> => {
      const more = historyLength === undefined ? {} : { historyLength };
      const { tasks: listed } = await store.list(request(more), alice);
      return listed.find((task) => task.id === 't|g')?.history.length;
    };
    expect([await lengthOf(), await lengthOf(0), await lengthOf(2), await lengthOf(9)]).toEqual([3, 0, 2, 3]);
  });

  test('never writes', async () => {
    const error = await store.save(emptyTask('new'), alice).catch((caught: unknown) => caught);
    expect(isClusterError(error, 'BUG')).toBe(true);
    expect(await store.load('new', alice)).toBeUndefined();
  });
});

describe.each(availableProviders())(
  "the SDK's task store, with a row changed behind its back, on %s",
  (provider) => {
    const logged: unknown[] = [];
    let open: OpenDatabase;
    let store: TaskStore;

    beforeAll(async () => {
      open = await openDatabase(provider);
      const write: LogMethod = (fields) => void logged.push(fields);
      store = createSdkTaskStore({
        database: open.database,
        logger: { debug: write, info: write, warn: write, error: write },
      });
    });

    afterAll(() => open.close());

    test('leaves an unreadable task out of a list, and says so in the log', async () => {
      const own = { tenant: '', owner: 'carol' };
      await seed(open.database, { scope: own, first: emptyTask('good') });
      await seed(open.database, { scope: own, first: emptyTask('bad') });
      await open.sql(`UPDATE task_events SET payload = 'x' WHERE task_id = 'bad'`);
      const page = await store.list(request(), callOf('carol'));
      expect(page.tasks.map((task) => task.id)).toEqual(['good']);
      expect(page.totalSize).toBe(2);
      expect(logged).toContainEqual(expect.objectContaining({ taskId: 'bad' }));
    });
  },
);

describe('the scope of a call', () => {
  test('is the tenant and what the resolver says, by default the name of the user', () => {
    expect(scopeOf(callOf('alice', 'north'))).toEqual({ tenant: 'north', owner: 'alice' });
    expect(scopeOf(new ServerCallContext())).toEqual({ tenant: '', owner: 'unknown' });
    expect(scopeOf(callOf('alice'), () => 'team-1')).toEqual({ tenant: '', owner: 'team-1' });
  });

  test.each([
    ['alice ', ''],
    ['alice', 'north '],
    ['a\u0000', ''],
    ['a', '\ud800'],
    ['x'.repeat(192), ''],
  ])('of principal %j and tenant %j is refused, without its value in the message', (userName, tenant) => {
    const context = callOf(userName, tenant);
    expect(isStorableScope(scopeOf(context))).toBe(false);
    expect(() => storableScopeOf(context)).toThrow(RequestMalformedError);
    expect(() => storableScopeOf(context)).toThrow(
      /^The (principal|tenant) of this call cannot own tasks\.$/,
    );
  });
});
