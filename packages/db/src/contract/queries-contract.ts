import { describe, expect, test } from '@jest/globals';
import type { Scope } from '@a2a-cluster/core';
import type { PushConfigRow, TaskListQuery } from '../statements/task-queries.js';
import type { CreateTask } from '../statements/journal-statements.js';
import { event, freshScope, writeOf } from './context.js';
import type { ContractContext } from './context.js';

/** Lists of tasks and push configs. */
export function describeQueries(context: ContractContext): void {
  describe('a list of tasks', () => describeList(context));
  describe('pages of a list', () => describePaging(context));
  describe('documents of several tasks', () => describeReadTasks(context));
  describe('push configs', () => describePushConfigs(context));
  describe('changes of push configs', () => describePushConfigChanges(context));
}

const at = (minute: number): string => `2026-03-01T10:${String(minute).padStart(2, '0')}:00.000Z`;

function describeList(context: ContractContext): void {
  const make = (scope: Scope, more: Partial<CreateTask>) => context.makeFreeTask({ scope, ...more });
  const idsOf = async (query: Partial<TaskListQuery> & Pick<TaskListQuery, 'scope'>): Promise<string[]> => {
    const { rows, total } = await context.db.tasks.list({ limit: 100, ...query });
    expect(total).toBe(rows.length);
    return rows.map((row) => row.taskId);
  };

  test('has the newest status first, then the higher id, those without a time last', async () => {
    const scope = freshScope();
    const base = scope.owner;
    await make(scope, { taskId: `${base}-a`, statusTimestamp: at(1) });
    await make(scope, { taskId: `${base}-b`, statusTimestamp: null });
    await make(scope, { taskId: `${base}-c`, statusTimestamp: at(2) });
    await make(scope, { taskId: `${base}-e`, statusTimestamp: at(1) });
    await make(scope, { taskId: `${base}-d`, statusTimestamp: null });
    const page = await context.db.tasks.list({ scope, limit: 100 });
    expect(page.rows.map((row) => row.taskId.at(-1)).join('')).toBe('ceadb');
    expect(page.total).toBe(5);
    expect(page.rows.map((row) => row.statusTimestamp)).toEqual([at(2), at(1), at(1), '', '']);
  });

  test('has whole rows', async () => {
    const { taskId, scope, contextId } = await make(freshScope(), { statusTimestamp: at(3) });
    const state = 'TASK_STATE_WORKING';
    expect(await context.db.tasks.list({ scope, limit: 10 })).toEqual({
      rows: [{ taskId, scope, contextId, state, statusTimestamp: at(3), version: 1 }],
      total: 1,
    });
  });

  test('has only what belongs to tenant and owner', async () => {
    const scope = freshScope();
    const mine = await make(scope, {});
    await make({ ...scope, owner: 'other' }, {});
    await make({ ...scope, tenant: 'other' }, {});
    expect(await idsOf({ scope })).toEqual([mine.taskId]);
    expect(await context.db.tasks.list({ scope: freshScope(), limit: 10 })).toEqual({ rows: [], total: 0 });
  });

  test("has every owner's for an operator", async () => {
    const contextId = `context-${freshScope().owner}`;
    await make(freshScope(), { contextId });
    await make(freshScope(), { contextId });
    expect(await idsOf({ scope: null, contextId })).toHaveLength(2);
  });

  test('can be narrowed by context, state and time of the status', async () => {
    const scope = freshScope();
    const state = 'TASK_STATE_INPUT_REQUIRED';
    const one = await make(scope, { contextId: 'c-1', statusTimestamp: at(1) });
    const two = await make(scope, { contextId: 'c-1', statusTimestamp: at(2), state });
    const three = await make(scope, { contextId: 'c-2', statusTimestamp: at(3), state });
    const none = await make(scope, { contextId: 'c-2', statusTimestamp: null });
    expect(await idsOf({ scope, contextId: 'c-1' })).toEqual([two.taskId, one.taskId]);
    expect(await idsOf({ scope, state })).toEqual([three.taskId, two.taskId]);
    expect(await idsOf({ scope, statusAfter: at(1) })).toEqual([three.taskId, two.taskId]);
    expect(await idsOf({ scope, statusAfter: at(3) })).toEqual([]);
    expect(await idsOf({ scope, contextId: 'c-1', state })).toEqual([two.taskId]);
    expect(await idsOf({ scope, contextId: 'c-1', statusAfter: at(1) })).toEqual([two.taskId]);
    expect(await idsOf({ scope, state, statusAfter: at(2) })).toEqual([three.taskId]);
    expect(await idsOf({ scope, contextId: 'c-2', state, statusAfter: at(1) })).toEqual([three.taskId]);
    expect(await idsOf({ scope, contextId: 'c-2' })).toEqual([three.taskId, none.taskId]);
    expect(await context.db.tasks.list({ scope, state, limit: 1 })).toMatchObject({ total: 2 });
  });
}

function describePaging(context: ContractContext): void {
  const contextId = 'context-of-pages';
  const state = 'TASK_STATE_WORKING';
  test.each<Partial<TaskListQuery>>([{}, { contextId }, { state }, { contextId, state }])(
    'follow one another without gap or repeat, also among equal times and none, by %j',
    async (filter) => {
      const scope = freshScope();
      for (const statusTimestamp of [at(1), at(1), at(1), at(2), at(1), null, null, null, at(3)])
        await context.makeFreeTask({ scope, contextId, statusTimestamp });
      await context.makeFreeTask({ scope: freshScope(), contextId, statusTimestamp: at(1) });
      const whole = await context.db.tasks.list({ scope, limit: 100 });
      const paged: string[] = [];
      let cursor: TaskListQuery['cursor'];
      for (let page = 0; page < 6; page++) {
        const next = { scope, ...filter, limit: 2, ...(cursor ? { cursor } : {}) };
        const { rows, total } = await context.db.tasks.list(next);
        expect(total).toBe(9);
        paged.push(...rows.map((row) => row.taskId));
        const last = rows.at(-1);
        if (last) cursor = { statusTimestamp: last.statusTimestamp, taskId: last.taskId };
      }
      expect(paged).toEqual(whole.rows.map((row) => row.taskId));
      expect(new Set(paged).size).toBe(9);
    },
  );

  test('go on although the task at the cursor has moved', async () => {
    const scope = freshScope();
    const older = await context.makeFreeTask({ scope, statusTimestamp: at(1) });
    const moved = await context.makeTask({ scope, statusTimestamp: at(2) });
    const cursor = { statusTimestamp: at(2), taskId: moved.taskId };
    await context.db.journal.commit(writeOf(moved, { statusTimestamp: at(9) }));
    const { rows } = await context.db.tasks.list({ scope, limit: 10, cursor });
    expect(rows.map((row) => row.taskId)).toEqual([older.taskId]);
  });
}

function describeReadTasks(context: ContractContext): void {
  test('are the same as read one by one, missing ones left out', async () => {
    const one = await context.makeFreeTask({ snapshot: '{"at":1}' });
    const two = await context.makeTask({ events: [event('task'), event()], snapshot: null });
    await context.db.journal.commit(writeOf(two));
    const read = await context.db.tasks.readTasks([two.taskId, 'none', one.taskId]);
    const documents = new Map(read.map((task) => [task.taskId, task]));
    expect([...documents.keys()].sort()).toEqual([one.taskId, two.taskId].sort());
    for (const task of [one, two]) {
      const { lease, ...expected } = await context.read(task);
      expect(documents.get(task.taskId)).toMatchObject(expected);
      expect(documents.get(task.taskId)?.lease?.epoch).toBe(lease?.epoch);
    }
    expect(await context.db.tasks.readTasks([])).toEqual([]);
  });
}

const configOf = (scope: Scope, more: Partial<PushConfigRow> = {}): PushConfigRow => {
  const url = 'https://example.org/hook';
  const payload = JSON.stringify({ url, token: 't' });
  const { origin } = new URL(url);
  return {
    ...{ taskId: `task-${scope.owner}`, configId: 'c-1', scope, payload, wireVersion: '1.0', origin },
    ...more,
  };
};

const loaderOf =
  (context: ContractContext) =>
  async ({ taskId, scope }: PushConfigRow): Promise<readonly PushConfigRow[]> =>
    context.db.pushConfigs.load({ taskId, scope });

function describePushConfigs(context: ContractContext): void {
  const load = loaderOf(context);

  test('are loaded as saved, in the order of their first save', async () => {
    const scope = freshScope();
    const rows = ['z', 'a', 'm'].map((configId) => configOf(scope, { configId }));
    for (const row of rows) {
      expect(await context.db.pushConfigs.save(row)).toBe('saved');
      await context.tick();
    }
    const replaced = configOf(scope, {
      configId: 'z',
      payload: '{"url":"https://b"}',
      wireVersion: '0.3',
      origin: 'https://b',
    });
    expect(await context.db.pushConfigs.save(replaced)).toBe('saved');
    expect(await load(replaced)).toEqual([replaced, ...rows.slice(1)]);
  });

  test('are of one tenant and owner: not loaded, replaced or removed by others', async () => {
    const scope = freshScope();
    const row = configOf(scope);
    await context.db.pushConfigs.save(row);
    for (const other of [
      { ...scope, owner: 'other' },
      { ...scope, tenant: 'other' },
    ]) {
      const theirs = { ...row, scope: other, payload: '{"url":"https://evil"}' };
      expect(await context.db.pushConfigs.save(theirs)).toBe('taken');
      expect(await load(theirs)).toEqual([]);
      await context.db.pushConfigs.remove({ taskId: row.taskId, scope: other, configId: row.configId });
      await context.db.pushConfigs.remove({ taskId: row.taskId, scope: other });
    }
    expect(await load(row)).toEqual([row]);
  });
}

function describePushConfigChanges(context: ContractContext): void {
  const load = loaderOf(context);

  test('are removed one by one or all of a task, any number of times', async () => {
    const scope = freshScope();
    const rows = ['c-1', 'c-2', 'c-3'].map((configId) => configOf(scope, { configId }));
    const elsewhere = configOf(scope, { taskId: `${scope.owner}-2` });
    for (const row of [...rows, elsewhere]) await context.db.pushConfigs.save(row);
    const { taskId } = configOf(scope);
    for (let n = 0; n < 2; n++) await context.db.pushConfigs.remove({ taskId, scope, configId: 'c-2' });
    expect((await load(configOf(scope))).map((row) => row.configId).sort()).toEqual(['c-1', 'c-3']);
    for (let n = 0; n < 2; n++) await context.db.pushConfigs.remove({ taskId, scope });
    expect(await load(configOf(scope))).toEqual([]);
    expect(await load(elsewhere)).toEqual([elsewhere]);
  });

  test('are saved once when replicas race', async () => {
    const row = configOf(freshScope());
    const saves = [context.db, context.second, context.db, context.second].map((db) =>
      db.pushConfigs.save(row),
    );
    expect(await Promise.all(saves)).toEqual(['saved', 'saved', 'saved', 'saved']);
    expect(await load(row)).toEqual([row]);
  });
}
