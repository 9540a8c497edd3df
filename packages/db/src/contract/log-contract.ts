import { describe, expect, test } from '@jest/globals';
import { event, newTask, writeOf } from './context.js';
import type { ContractContext, MadeTask } from './context.js';

/** Reads of the log (protocol 3.9 and 7). */
export function describeLog(context: ContractContext): void {
  describe('a task as stored', () => describeReadTask(context));
  describe('the heads of logs', () => describeHeads(context));
  describe('a page of a log', () => describePage(context));
  describe('pages of several logs', () => describePages(context));
}

async function makeLog(context: ContractContext, length: number): Promise<MadeTask> {
  const rest = Array.from({ length: length - 1 }, () => event('artifactUpdate'));
  return context.makeTask({ events: [event('task'), ...rest] });
}

function describeReadTask(context: ContractContext): void {
  test('is the snapshot and the events after it', async () => {
    const task = await context.makeTask({ snapshot: '{"at":1}' });
    await context.db.journal.commit(writeOf(task, { events: [event(), event()] }));
    const first = await context.read(task);
    expect(first).toMatchObject({ snapshot: '{"at":1}', snapshotVersion: 1, version: 3 });
    expect(first.events.map((row) => row.seq)).toEqual([2, 3]);

    await context.db.journal.commit(writeOf({ ...task, version: 3 }, { snapshot: '{"at":4}' }));
    const second = await context.read(task);
    expect(second).toMatchObject({ snapshot: '{"at":4}', snapshotVersion: 4, version: 4, events: [] });

    await context.db.journal.commit(writeOf({ ...task, version: 4 }));
    const third = await context.read(task);
    expect(third).toMatchObject({ snapshot: '{"at":4}', snapshotVersion: 4, version: 5 });
    expect(third.events.map((row) => row.seq)).toEqual([5]);
  });

  test('is all its events when there is no snapshot', async () => {
    const stored = await context.read(await makeLog(context, 3));
    expect(stored).toMatchObject({ snapshot: null, snapshotVersion: 0, version: 3 });
    expect(stored.events.map((row) => row.seq)).toEqual([1, 2, 3]);
  });

  test('names its lease with rest and mark, or none', async () => {
    const task = await context.makeTask({ ttlMs: 60_000 });
    const { lease } = await context.read(task);
    expect(lease).toMatchObject({ holder: task.holder, epoch: 1, pending: false, cancelAgeMs: null });
    expect(lease?.remainingMs).toBeGreaterThan(50_000);
    expect(await context.read(await context.makeFreeTask())).toMatchObject({ lease: null });
  });

  test('is only found in its scope, where one is named', async () => {
    const { taskId, scope } = await context.makeTask();
    const read = (more: object) => context.db.log.readTask({ taskId, ...more });
    expect(await read({})).toMatchObject({ taskId, scope });
    expect(await read({ scope })).toMatchObject({ taskId, scope });
    expect(await read({ scope: { ...scope, owner: 'other' } })).toBeNull();
    expect(await read({ scope: { ...scope, tenant: 'other' } })).toBeNull();
    expect(await context.db.log.readTask({ taskId: 'none' })).toBeNull();
  });

  test('is of one moment: version, snapshot and events agree while others write', async () => {
    let task = await context.makeTask();
    const seen: { version: number; last: number | undefined }[] = [];
    const writing = (async () => {
      for (let n = 0; n < 30; n++) {
        const snapshot = n % 3 === 0 ? '{"s":1}' : null;
        await context.second.journal.commit(writeOf(task, { snapshot }));
        task = { ...task, version: task.version + 1 };
      }
    })();
    const reading = async (): Promise<void> => {
      while (task.version < 31) {
        const stored = await context.read(task);
        seen.push({ version: stored.version, last: stored.events.at(-1)?.seq ?? stored.snapshotVersion });
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    await Promise.all([writing, reading()]);
    expect(seen).toEqual(seen.map(({ version }) => ({ version, last: version })));
  });
}

function describeHeads(context: ContractContext): void {
  test('name version, state and lease of the tasks that are there', async () => {
    const running = await makeLog(context, 3);
    const parked = await context.makeFreeTask({ state: 'TASK_STATE_INPUT_REQUIRED' });
    const heads = await context.db.log.readHeads([parked.taskId, 'none', running.taskId]);
    expect(new Map(heads.map((head) => [head.taskId, head]))).toEqual(
      new Map([
        [
          running.taskId,
          {
            taskId: running.taskId,
            version: 3,
            state: 'TASK_STATE_WORKING',
            lease: { holder: running.holder, epoch: 1, cancelAgeMs: null },
          },
        ],
        [
          parked.taskId,
          { taskId: parked.taskId, version: 1, state: 'TASK_STATE_INPUT_REQUIRED', lease: null },
        ],
      ]),
    );
    expect(await context.db.log.readHeads([])).toEqual([]);
  });
}

function describePage(context: ContractContext): void {
  test('has the events after a seq, in order, up to a limit', async () => {
    const { taskId } = await makeLog(context, 12);
    const seqs = async (after: number, limit: number): Promise<number[]> =>
      (await context.db.log.readEvents({ taskId, after, limit })).map((row) => row.seq);
    expect(await seqs(0, 100)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    expect(await seqs(0, 2)).toEqual([1, 2]);
    expect(await seqs(8, 3)).toEqual([9, 10, 11]);
    expect(await seqs(11, 3)).toEqual([12]);
    expect(await seqs(12, 3)).toEqual([]);
    expect(await seqs(99, 3)).toEqual([]);
  });

  test('of a task that is not there is empty', async () => {
    expect(await context.db.log.readEvents({ taskId: 'none', after: 0, limit: 10 })).toEqual([]);
  });
}

function describePages(context: ContractContext): void {
  test('start after the seq of each task', async () => {
    const [one, two, three] = [
      await makeLog(context, 4),
      await makeLog(context, 2),
      await makeLog(context, 3),
    ];
    const cursors = [
      { taskId: three.taskId, after: 3 },
      { taskId: one.taskId, after: 1 },
      { taskId: two.taskId, after: 0 },
      { taskId: 'none', after: 0 },
    ];
    const rows = await context.db.log.readEventsOf({ cursors, limit: 100 });
    const seqs = ({ taskId }: MadeTask): number[] =>
      rows.filter((row) => row.taskId === taskId).map((row) => row.seq);
    expect([seqs(one), seqs(two), seqs(three)]).toEqual([[2, 3, 4], [1, 2], []]);
    expect(rows).toHaveLength(5);
  });

  test('are cut at the limit without a gap in any task', async () => {
    const [one, two] = [await makeLog(context, 4), await makeLog(context, 4)];
    const positions = new Map([one, two].map(({ taskId }) => [taskId, 0]));
    const rounds: number[] = [];
    for (let rows = 1; rows > 0 && rounds.length < 10;) {
      const cursors = [...positions].map(([taskId, after]) => ({ taskId, after }));
      const page = await context.db.log.readEventsOf({ cursors, limit: 3 });
      for (const { taskId, seq } of page) {
        expect(seq).toBe((positions.get(taskId) ?? 0) + 1);
        positions.set(taskId, seq);
      }
      rows = page.length;
      rounds.push(rows);
    }
    expect(rounds).toEqual([3, 3, 2, 0]);
    expect([...positions.values()]).toEqual([4, 4]);
  });

  test('carry the whole row', async () => {
    const create = newTask({ events: [event('task', { messageId: 'm-1' })] });
    await context.db.journal.createTask(create);
    const cursors = [{ taskId: create.taskId, after: 0 }];
    const rows = await context.db.log.readEventsOf({ cursors, limit: 10 });
    expect(rows).toEqual(await context.db.log.readEvents({ taskId: create.taskId, after: 0, limit: 10 }));
    expect(rows).toMatchObject([{ messageId: 'm-1', kind: 'task', epoch: 1, holder: create.holder }]);
  });

  test('of no tasks are empty', async () => {
    expect(await context.db.log.readEventsOf({ cursors: [], limit: 10 })).toEqual([]);
  });
}
