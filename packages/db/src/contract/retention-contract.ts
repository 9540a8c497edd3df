import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import type { CompactTask, RetentionTask } from '../statements/retention-statements.js';
import { completionOf, event, followUp, writeOf } from './context.js';
import type { ContractContext, MadeTask } from './context.js';
import { CLAIMANT, configOf, PushContext } from './push-context.js';

/** Longer than any test has run. */
const AN_HOUR_MS = 3_600_000;

/** What retention finds, compacts and purges (protocol 11). */
export function describeRetention(context: ContractContext): void {
  const hands = new Hands(context);
  describe('what retention finds', () => describeFinding(context, hands));
  describe('what waits for its deliveries', () => describeWaiting(context, hands));
  describe('compaction', () => describeCompaction(context, hands));
  describe('purges', () => describePurges(context, hands));
  describe('several that prune', () => describeSeveral(context, hands));
}

class Hands {
  constructor(private readonly context: ContractContext) {}

  /** A task with so many events that has ended, and time has passed since. */
  async ended(events = 2, snapshot: string | null = null, taskId?: string): Promise<MadeTask> {
    const task = await this.context.makeTask(taskId === undefined ? {} : { taskId });
    const more = Array.from({ length: events - 2 }, () => event());
    const last = { ...completionOf(task), events: [...more, event()], snapshot };
    const outcome = await this.context.db.journal.commit(last);
    if (!outcome.ok) throw new Error('not completed');
    await this.context.tick();
    return { ...task, version: outcome.version };
  }

  /** Those of these tasks that a whole walk finds. */
  async found(
    tasks: readonly Pick<MadeTask, 'taskId'>[],
    more: { due?: 'events' | 'task'; limit?: number; endedForMs?: number } = {},
  ): Promise<readonly RetentionTask[]> {
    const ids = new Set(tasks.map(({ taskId }) => taskId));
    const found: RetentionTask[] = [];
    let after: string | null = '';
    while (after !== null) {
      const step = { after, limit: 7, endedForMs: 0, due: 'events' as const, ...more };
      const answer: Awaited<ReturnType<typeof this.context.db.retention.find>> =
        await this.context.db.retention.find(step);
      found.push(...answer.tasks.filter(({ taskId }) => ids.has(taskId)));
      after = answer.next;
    }
    return found;
  }

  async compact(
    task: MadeTask,
    more: Partial<CompactTask> & { maxEvents?: number; endedForMs?: number } = {},
  ) {
    const { maxEvents = 1_000, endedForMs = 0, ...rest } = more;
    const { taskId, version } = task;
    const tasks = [{ taskId, version, snapshot: `{"compact":"${taskId}"}`, ...rest }];
    return this.context.db.retention.compact({ tasks, endedForMs, maxEvents });
  }

  async purge(tasks: readonly MadeTask[], more: { maxEvents?: number; endedForMs?: number } = {}) {
    const taskIds = tasks.map(({ taskId }) => taskId);
    return this.context.db.retention.purge({ taskIds, endedForMs: 0, maxEvents: 1_000, ...more });
  }

  async seqs({ taskId }: Pick<MadeTask, 'taskId'>): Promise<readonly number[]> {
    const rows = await this.context.db.log.readEvents({ taskId, after: 0, limit: 1_000 });
    return rows.map(({ seq }) => seq);
  }
}

function describeFinding(context: ContractContext, hands: Hands): void {
  test('finds ended tasks, with the version of their snapshots', async () => {
    const bare = await hands.ended();
    const folded = await hands.ended(3, '{"folded":true}');
    const found = await hands.found([bare, folded]);
    const expected = [
      { taskId: bare.taskId, version: 2, snapshotVersion: 0 },
      { taskId: folded.taskId, version: 3, snapshotVersion: 3 },
    ];
    expect([...found].sort(byId)).toEqual(expected.sort(byId));
  });

  test('looks at so many rows and no more, in the order of their ids, and says where it stopped', async () => {
    const prefix = `walk-${randomUUID()}-`;
    await hands.ended(2, null, `${prefix}a`);
    await context.makeTask({ taskId: `${prefix}b` });
    await hands.ended(2, null, `${prefix}c`);
    const step = { endedForMs: 0, due: 'task' as const };
    const idsFrom = async (after: string, limit: number) => {
      const { tasks, next } = await context.db.retention.find({ ...step, after: prefix + after, limit });
      return {
        ids: tasks.map(({ taskId }) => taskId.slice(prefix.length)),
        next: next?.slice(prefix.length),
      };
    };
    expect(await idsFrom('', 2)).toEqual({ ids: ['a'], next: 'b' });
    expect(await idsFrom('b', 1)).toEqual({ ids: ['c'], next: 'c' });
    expect(await idsFrom('a', 1)).toEqual({ ids: [], next: 'b' });
    expect((await context.db.retention.find({ ...step, after: '\u{10ffff}', limit: 1 })).next).toBeNull();
  });

  test.each(['SUBMITTED', 'WORKING', 'INPUT_REQUIRED', 'AUTH_REQUIRED'])('leaves %s alone', async (name) => {
    const task = await context.makeFreeTask({ state: `TASK_STATE_${name}` });
    await context.tick();
    const before = await context.still(task);
    expect(await hands.found([task], { due: 'task' })).toEqual([]);
    expect(await hands.compact(task)).toEqual({ events: 0, taskIds: [] });
    expect(await hands.purge([task])).toEqual({ purged: [], events: 0 });
    expect(await context.still(task)).toEqual(before);
  });

  test.each(['COMPLETED', 'FAILED', 'CANCELED', 'REJECTED'])('takes %s', async (name) => {
    const task = await hands.ended();
    await context.tamper.setState(task.taskId, `TASK_STATE_${name}`);
    expect(await hands.found([task])).toHaveLength(1);
    expect(await hands.compact(task)).toEqual({ events: 2, taskIds: [task.taskId] });
  });

  test('leaves what has not ended long enough ago', async () => {
    const task = await hands.ended();
    const old = { endedForMs: AN_HOUR_MS };
    expect(await hands.found([task], old)).toEqual([]);
    expect(await hands.compact(task, old)).toEqual({ events: 0, taskIds: [] });
    expect(await hands.purge([task], old)).toEqual({ purged: [], events: 0 });
    expect(await hands.seqs(task)).toEqual([1, 2]);
  });

  test('leaves an ended task whose lease a fault has left behind', async () => {
    const task = await context.makeTask();
    await context.tamper.setState(task.taskId, 'TASK_STATE_COMPLETED');
    await context.tick();
    const ended = { ...task, version: 1 };
    expect(await hands.found([ended], { due: 'task' })).toEqual([]);
    expect(await hands.compact(ended)).toEqual({ events: 0, taskIds: [] });
    expect(await hands.purge([ended])).toEqual({ purged: [], events: 0 });
  });
}

function describeWaiting(context: ContractContext, hands: Hands): void {
  const pushes = new PushContext(context);

  async function expectKept(task: MadeTask): Promise<void> {
    expect(await hands.found([task], { due: 'task' })).toEqual([]);
    expect(await hands.compact(task)).toEqual({ events: 0, taskIds: [] });
    expect(await hands.purge([task])).toEqual({ purged: [], events: 0 });
    expect(await hands.seqs(task)).not.toEqual([]);
  }

  test('keeps a log while a webhook waits for its events, and no longer', async () => {
    const push = await pushes.waiting();
    const task = await pushes.complete(push.task);
    await context.tick();
    await expectKept(task);
    const claim = await pushes.claim(push);
    await pushes.settle(claim, { position: task.version, delivered: true });
    expect(await hands.found([task])).toHaveLength(1);
    expect(await hands.compact(task)).toMatchObject({ events: 3 });
  });

  test('keeps nothing for a webhook that was registered after the end, or is disabled', async () => {
    const late = await hands.ended();
    await context.db.pushConfigs.save(configOf(late));
    const push = await pushes.waiting();
    const disabled = await pushes.complete(push.task);
    const claim = await pushes.claim(push);
    await pushes.settle(claim, { next: { kind: 'disable', error: 'gone' } });
    await context.tick();
    expect(await hands.found([late, disabled])).toHaveLength(2);
  });

  test('keeps a task whose dead letter an operator has asked for', async () => {
    const push = await pushes.waiting();
    const claim = await pushes.claim(push);
    const letter = { attempts: 1, error: 'no', body: '{}', contentType: 'application/json' };
    const { taskId, configId } = push;
    const buried = { ...letter, taskId, configId, claim: claim.claim, seq: 2, ttlMs: CLAIMANT.ttlMs };
    expect(await context.db.pushQueue.bury(buried)).toBe(true);
    await pushes.settle(claim, { position: 2 });
    const ended = await pushes.complete(push.task);
    const last = await pushes.claim(push);
    await pushes.settle(last, { position: ended.version, delivered: true });
    await context.tick();
    expect(await hands.found([ended])).toHaveLength(1);
    await context.db.pushQueue.retry({ taskId });
    await expectKept(ended);
  });
}

function describeCompaction(context: ContractContext, hands: Hands): void {
  test('leaves the document and takes the log', async () => {
    const task = await hands.ended(4);
    const before = await context.read(task);
    expect(await hands.compact(task)).toEqual({ events: 4, taskIds: [task.taskId] });
    const after = await context.read(task);
    const snapshot = `{"compact":"${task.taskId}"}`;
    expect(after).toEqual({ ...before, snapshot, snapshotVersion: 4, events: [] });
    expect(await hands.seqs(task)).toEqual([]);
    expect(await hands.found([task])).toEqual([]);
    expect(await hands.found([task], { due: 'task' })).toHaveLength(1);
    const { rows } = await context.db.tasks.list({ scope: task.scope, limit: 1 });
    expect(rows).toMatchObject([{ taskId: task.taskId, version: 4 }]);
    expect(await context.db.tasks.readTasks([task.taskId])).toMatchObject([{ snapshot, events: [] }]);
  });

  test('takes the stored document where that is of the last version, and else does nothing', async () => {
    const folded = await hands.ended(3, '{"folded":true}');
    expect(await hands.compact(folded, { snapshot: null })).toMatchObject({ events: 3 });
    expect(await context.read(folded)).toMatchObject({ snapshot: '{"folded":true}', events: [] });
    const bare = await hands.ended();
    expect(await hands.compact(bare, { snapshot: null })).toEqual({ events: 0, taskIds: [] });
    expect(await hands.seqs(bare)).toEqual([1, 2]);
  });

  test('does nothing to a task of another version', async () => {
    const task = await hands.ended();
    expect(await hands.compact(task, { version: 1 })).toEqual({ events: 0, taskIds: [] });
    expect(await context.read(task)).toMatchObject({ snapshot: null });
  });

  test('deletes no more events than it was told, the first ones first', async () => {
    const task = await hands.ended(7);
    expect(await hands.compact(task, { maxEvents: 3 })).toEqual({ events: 3, taskIds: [task.taskId] });
    expect(await hands.seqs(task)).toEqual([4, 5, 6, 7]);
    expect(await context.read(task)).toMatchObject({ snapshotVersion: 7, events: [] });
    expect(await hands.found([task])).toHaveLength(1);
    expect(await hands.compact(task, { maxEvents: 3, snapshot: null })).toMatchObject({ events: 3 });
    expect(await hands.compact(task, { maxEvents: 3, snapshot: null })).toMatchObject({ events: 1 });
    expect(await hands.seqs(task)).toEqual([]);
  });

  test('refuses a follow-up to an ended task as before, and finds no message of a log that is gone', async () => {
    const task = await context.makeFreeTask({ state: 'TASK_STATE_INPUT_REQUIRED' });
    const message = followUp(task, { holder: task.holder });
    const opened = await context.db.journal.openTurn(message);
    if (!opened.ok) throw new Error('not opened');
    const turn = { ...task, version: opened.epoch, epoch: opened.epoch };
    await context.db.journal.commit(completionOf(turn));
    await context.tick();
    const repeated = await context.db.journal.openTurn(message);
    expect(repeated).toMatchObject({ refusal: 'duplicate', seq: 2 });
    const ended = { ...turn, version: 3 };
    expect(await hands.compact(ended)).toMatchObject({ events: 3 });
    expect(await context.db.journal.openTurn(message)).toMatchObject({ refusal: 'terminal' });
    const { messageId = '' } = message.event;
    expect(await context.db.log.findMessage({ taskId: task.taskId, messageId })).toBeNull();
    expect(await context.db.journal.commit(writeOf(ended))).toEqual({ ok: false });
  });
}

function describePurges(context: ContractContext, hands: Hands): void {
  test('deletes a task with all that belongs to it, and nothing else', async () => {
    const task = await hands.ended(3, '{"folded":true}');
    const other = await hands.ended();
    await context.db.pushConfigs.save(configOf(task));
    const { taskId, scope } = task;
    expect(await hands.purge([task])).toEqual({
      purged: [{ taskId, scope, state: 'TASK_STATE_COMPLETED' }],
      events: 3,
    });
    expect(await context.db.log.readTask({ taskId })).toBeNull();
    expect(await context.db.log.readHeads([taskId])).toEqual([]);
    expect(await hands.seqs(task)).toEqual([]);
    expect(await context.db.pushConfigs.load({ taskId, scope })).toEqual([]);
    expect(await context.db.pushQueue.list({ taskId, limit: 9 })).toEqual([]);
    expect(await hands.purge([task])).toEqual({ purged: [], events: 0 });
    expect(await hands.seqs(other)).toEqual([1, 2]);
  });

  test('deletes no more events than it was told, and a task only with its last one', async () => {
    const tasks = [await hands.ended(3), await hands.ended(3)].sort(byId);
    const [first, second] = tasks as [MadeTask, MadeTask];
    expect(await hands.purge(tasks, { maxEvents: 2 })).toEqual({ purged: [], events: 2 });
    expect([await hands.seqs(first), await hands.seqs(second)]).toEqual([[3], [1, 2, 3]]);
    expect(await hands.purge(tasks, { maxEvents: 2 })).toMatchObject({
      purged: [{ taskId: first.taskId }],
      events: 2,
    });
    expect(await hands.seqs(second)).toEqual([2, 3]);
    // As many as there are: the last one takes the task with it.
    expect(await hands.purge(tasks, { maxEvents: 2 })).toMatchObject({
      purged: [{ taskId: second.taskId }],
      events: 2,
    });
  });
}

function describeSeveral(context: ContractContext, hands: Hands): void {
  test('every event and every task is counted by one of them', async () => {
    const tasks: MadeTask[] = [];
    for (let n = 0; n < 8; n += 1) tasks.push(await hands.ended(3));
    const both = [context.db, context.second];
    const compaction = {
      tasks: tasks.map(({ taskId, version }) => ({ taskId, version, snapshot: '{}' })),
      endedForMs: 0,
      maxEvents: 1_000,
    };
    let events = 0;
    while ((await hands.found(tasks)).length > 0) {
      const done = await Promise.all(both.map((db) => db.retention.compact(compaction)));
      events += done.reduce((sum, one) => sum + one.events, 0);
    }
    expect(events).toBe(24);
    const purge = { taskIds: tasks.map(({ taskId }) => taskId), endedForMs: 0, maxEvents: 1_000 };
    const purged: string[] = [];
    while ((await hands.found(tasks, { due: 'task' })).length > 0) {
      const done = await Promise.all(both.map((db) => db.retention.purge(purge)));
      purged.push(...done.flatMap((one) => one.purged.map(({ taskId }) => taskId)));
    }
    expect(purged.sort()).toEqual(tasks.map(({ taskId }) => taskId).sort());
  });
}

function byId(a: { readonly taskId: string }, b: { readonly taskId: string }): number {
  return a.taskId < b.taskId ? -1 : 1;
}
