import { encodeEvent, isClusterError, type EventRow } from '@a2a-cluster/core';
import type { StoredTask } from '@a2a-cluster/db';
import { availableProviders } from '@a2a-cluster/testing';
import { Role, TaskState } from '@a2a-js/sdk';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createTaskReader, foldRows, type TaskReader } from '../src/index.js';
import { chunk, emptyTask, openDatabase, seed, status, update, type OpenDatabase } from './support.js';

const scope = { tenant: 'north', owner: 'alice' };
const working = status(TaskState.TASK_STATE_WORKING, '2026-01-01T00:00:00.000Z');

/** What a task of four more events says. */
const log = (id: string) => [update(id, working), chunk(id, 'a'), chunk(id, 'b\u0000€'), chunk(id, 'c')];

const fault = async (work: () => unknown): Promise<unknown> => {
  try {
    return await work();
  } catch (error) {
    return error;
  }
};

describe.each(['memory' as const, ...availableProviders()])('the task reader on %s', (provider) => {
  let open: OpenDatabase;
  let reader: TaskReader;

  beforeAll(async () => {
    open = await openDatabase(provider);
    reader = createTaskReader({ database: open.database });
  });

  afterAll(() => open.close());

  test.each([[[]], [[1]], [[3]], [[1, 4]], [[5]]])(
    'gives the task as the projection has it, with snapshots at %j',
    async (snapshotsAt) => {
      const id = `snapshots-${snapshotsAt.join('-')}`;
      const steps = await seed(open.database, { scope, first: emptyTask(id), more: log(id), snapshotsAt });
      const found = await reader.read({ taskId: id, scope });
      expect(found).toMatchObject({ version: 5, scope, state: 'TASK_STATE_WORKING' });
      expect(found?.task).toEqual(steps.at(-1));
      expect(found?.lease).toMatchObject({ holder: 'replica-a', epoch: 1 });
    },
  );

  test('adds message rows to the history', async () => {
    const message = {
      ...{ messageId: 'm1', contextId: '', taskId: 'messages', role: Role.ROLE_USER, parts: [] },
      ...{ metadata: undefined, extensions: [], referenceTaskIds: [] },
    };
    const more = [{ kind: 'message' as const, data: message }];
    await seed(open.database, { scope, first: emptyTask('messages'), more });
    expect((await reader.read({ taskId: 'messages' }))?.task.history).toEqual([message]);
  });

  test('knows no task of another owner or tenant, nor one that is not there', async () => {
    await seed(open.database, { scope, first: emptyTask('mine') });
    expect(await reader.read({ taskId: 'mine', scope: { tenant: 'north', owner: 'bob' } })).toBeNull();
    expect(await reader.read({ taskId: 'mine', scope: { tenant: 'south', owner: 'alice' } })).toBeNull();
    expect(await reader.read({ taskId: 'absent' })).toBeNull();
    expect((await reader.read({ taskId: 'mine' }))?.scope).toEqual(scope);
  });

  test('gives the task as of any seq, from the snapshot or from the beginning', async () => {
    const steps = await seed(open.database, {
      ...{ scope, first: emptyTask('past'), more: log('past'), snapshotsAt: [4] },
    });
    for (const [index, step] of steps.entries())
      expect(await reader.readTaskAt({ taskId: 'past', scope, seq: index + 1 })).toEqual(step);
    expect(await reader.readTaskAt({ taskId: 'past', seq: 99 })).toEqual(steps.at(-1));
    expect(await reader.readTaskAt({ taskId: 'past', seq: 0 })).toBeNull();
    expect(await reader.readTaskAt({ taskId: 'past', scope: { tenant: '', owner: '' }, seq: 2 })).toBeNull();
  });

  test('reads a past longer than a page', async () => {
    const taskId = 'long';
    const first = emptyTask(taskId);
    await seed(open.database, { scope, first });
    const events = Array.from({ length: 1_200 }, (_, index) => ({
      ...{
        kind: 'artifactUpdate' as const,
        payload: encodeEvent(chunk(taskId, `${index};`)),
        writeId: `w${index}`,
      },
    }));
    await open.database.journal.commit({
      ...{
        taskId,
        expectedVersion: 1,
        holder: 'replica-a',
        epoch: 1,
        events,
        state: null,
        statusTimestamp: null,
      },
      ...{ terminal: false, clearsPending: false, snapshot: JSON.stringify({ id: taskId }) },
    });
    const then = await reader.readTaskAt({ taskId, seq: 1_101 });
    expect(then?.artifacts[0]?.parts).toHaveLength(1_100);
  });

  test('lists tasks with their documents', async () => {
    const own = { tenant: '', owner: 'lister' };
    await seed(open.database, { scope: own, first: emptyTask('l1'), more: log('l1') });
    await seed(open.database, { scope: own, first: emptyTask('l2') });
    const { tasks, total } = await reader.list({ scope: own, limit: 10 });
    expect(total).toBe(2);
    expect(tasks.map(({ row, found }) => [row.taskId, found && 'task' in found && found.version])).toEqual([
      ['l1', 5],
      ['l2', 1],
    ]);
  });
});

describe.each(availableProviders())(
  'the task reader, with rows changed behind its back, on %s',
  (provider) => {
    let open: OpenDatabase;
    let reader: TaskReader;

    beforeAll(async () => {
      open = await openDatabase(provider);
      reader = createTaskReader({ database: open.database });
    });

    afterAll(() => open.close());

    const sql = (text: string): Promise<void> => open.sql(text);

    test('says null for a past whose events have been purged, and still reads the present', async () => {
      await seed(open.database, { scope, first: emptyTask('purged'), more: log('purged'), snapshotsAt: [4] });
      await sql(`DELETE FROM task_events WHERE task_id = 'purged' AND seq <= 2`);
      expect(await reader.readTaskAt({ taskId: 'purged', seq: 3 })).toBeNull();
      expect((await reader.read({ taskId: 'purged' }))?.version).toBe(5);
    });

    test('says ROW_CORRUPT with the task id where a row is unreadable or missing', async () => {
      await seed(open.database, { scope, first: emptyTask('torn'), more: log('torn') });
      await sql(`UPDATE task_events SET payload = '{"task":' WHERE task_id = 'torn' AND seq = 4`);
      const torn = await fault(() => reader.read({ taskId: 'torn' }));
      expect(isClusterError(torn, 'ROW_CORRUPT')).toBe(true);
      expect(torn).toMatchObject({ details: { taskId: 'torn', seq: 4 } });
      await sql(`DELETE FROM task_events WHERE task_id = 'torn' AND seq = 4`);
      expect(await fault(() => reader.read({ taskId: 'torn' }))).toMatchObject({
        details: { taskId: 'torn' },
      });
    });
  },
);

describe('the fold of stored rows', () => {
  const database = { log: null, tasks: null } as unknown as Parameters<
    typeof createTaskReader
  >[0]['database'];
  const { fold } = createTaskReader({ database });
  const row = (seq: number, payload: string): EventRow => ({
    ...{ taskId: 't', seq, kind: 'task', payload, messageId: null, holder: 'r', epoch: 1 },
  });
  const stored = (more: Partial<StoredTask>): StoredTask => ({
    ...{ taskId: 't', scope, contextId: '', state: '', version: 0, lease: null },
    ...{ snapshot: null, snapshotVersion: 0, events: [], ...more },
  });

  test.each([
    ['a snapshot that is not JSON', { snapshot: '{', snapshotVersion: 1, version: 1 }],
    ['a snapshot that is null', { snapshot: 'null', snapshotVersion: 1, version: 1 }],
    ['a snapshot of another task', { snapshot: '{"id":"u"}', snapshotVersion: 1, version: 1 }],
    ['a log without its first event', { events: [row(2, '{"task":{"id":"t"}}')], version: 2 }],
    ['a log without its last event', { snapshot: '{"id":"t"}', snapshotVersion: 1, version: 2 }],
    ['a log that is empty', {}],
    ['an event of another kind', { events: [row(1, '{"statusUpdate":{"taskId":"t"}}')], version: 1 }],
  ])('refuses %s as corrupt, and names the task', async (_what, more) => {
    const error = await fault(() => fold(stored(more)));
    expect(isClusterError(error, 'ROW_CORRUPT')).toBe(true);
    expect(error).toMatchObject({ details: { taskId: 't' } });
  });

  test('leaves the task it starts from as it was', () => {
    const task = Object.freeze(emptyTask('t', { artifacts: Object.freeze([]) as never }));
    const rows = [1, 2].map((seq) => ({
      ...row(seq, encodeEvent(chunk('t', 'x'))),
      kind: 'artifactUpdate' as const,
    }));
    expect(foldRows({ task, rows })?.artifacts[0]?.parts).toHaveLength(2);
    expect(task.artifacts).toEqual([]);
    expect(foldRows({ task, rows: [] })).toBe(task);
  });

  test('does not ask the database for an id that no task can have', async () => {
    const reader = createTaskReader({ database });
    for (const taskId of ['', 'a ', 'a\u0000', '\ud800', 'x'.repeat(192)]) {
      expect(await reader.read({ taskId })).toBeNull();
      expect(await reader.readTaskAt({ taskId, seq: 1 })).toBeNull();
    }
  });
});
