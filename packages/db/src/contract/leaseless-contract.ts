import { describe, expect, test } from '@jest/globals';
import { decodeEvent, encodeEvent, failureReasonOf } from '@a2a-cluster/core';
import type { EndedLeaseless, LeaselessBatch } from '../statements/leaseless.js';
import { event, followUp, sweepOf, writeOf } from './context.js';
import type { ContractContext, MadeTask } from './context.js';

/** What becomes of tasks that were left running without a lease (protocol 6). */
export function describeLeaseless(context: ContractContext): void {
  const hands = handsOf(context);
  describe('tasks without a lease', () => {
    describeEnds(context, hands);
    describeLeft(context, hands);
    describeSweepers(context, hands);
  });
}

type Sweep = (more?: Partial<LeaselessBatch>) => Promise<readonly EndedLeaseless[]>;

interface Hands {
  readonly sweep: Sweep;
  /** What a sweep of all gives of this task. */
  ofTask(task: MadeTask, more?: Partial<LeaselessBatch>): Promise<readonly EndedLeaseless[]>;
}

function handsOf(context: ContractContext): Hands {
  const sweep: Sweep = (more = {}) =>
    context.db.journal.sweepLeaseless({ ...sweepOf(), limit: 10_000, idleMs: 0, ...more });
  return {
    sweep,
    ofTask: async (task, more) => (await sweep(more)).filter(({ taskId }) => taskId === task.taskId),
  };
}

function describeEnds(context: ContractContext, { ofTask }: Hands): void {
  test.each(['SUBMITTED', 'WORKING'])('ends one in %s', async (name) => {
    const task = await context.makeTask({ state: `TASK_STATE_${name}` });
    await context.db.journal.commit(writeOf(task, { events: [event(), event()] }));
    await context.db.leases.release({ taskId: task.taskId, holder: task.holder, epoch: 1 });
    await context.tick();
    const [ended] = await ofTask(task);
    const { taskId, scope } = task;
    expect(ended).toEqual({ taskId, scope, epoch: 1, failed: { seq: 4, payload: expect.any(String) } });
    const after = await context.read(task);
    expect(after).toMatchObject({ state: 'TASK_STATE_FAILED', version: 4, lease: null });
    const row = { seq: 4, kind: 'statusUpdate', holder: 'replica-sweeper', epoch: 1, messageId: null };
    expect(after.events.at(-1)).toMatchObject({ ...row, payload: ended?.failed.payload });
    expect(await ofTask(task)).toEqual([]);
  });

  test('says in the FAILED event what happened', async () => {
    const task = await context.makeFreeTask({ contextId: 'c "quoted" \\ ü' });
    await context.tick();
    const [ended] = await ofTask(task);
    const payload = ended?.failed.payload ?? '';
    const { kind, data } = decodeEvent('statusUpdate', payload);
    if (kind !== 'statusUpdate') throw new Error(`a ${kind}`);
    expect(data).toMatchObject({ taskId: task.taskId, contextId: task.contextId });
    expect(failureReasonOf(data.metadata)).toBe('replica_lost');
    const idleSince: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(data.metadata?.['a2a-cluster']).toEqual({ reason: 'replica_lost', idleSince });
    expect(data.status).toMatchObject({ timestamp: '2026-01-03T00:00:00.000Z' });
    expect(encodeEvent({ kind, data })).toBe(payload);
  });
}

function describeLeft(context: ContractContext, { ofTask }: Hands): void {
  test.each(['INPUT_REQUIRED', 'AUTH_REQUIRED', 'COMPLETED', 'FAILED', 'CANCELED', 'REJECTED'])(
    'leaves one in %s',
    async (name) => {
      const task = await context.makeFreeTask();
      await context.tamper.setState(task.taskId, `TASK_STATE_${name}`);
      await context.tick();
      const before = await context.still(task);
      expect(await ofTask(task)).toEqual([]);
      expect(await context.still(task)).toEqual(before);
    },
  );

  test('leaves one with a lease, live or expired, and one that was written to a moment ago', async () => {
    const live = await context.makeTask();
    const expired = await context.makeTask();
    await context.expire(expired);
    const fresh = await context.makeFreeTask();
    await context.tick();
    expect(await ofTask(fresh, { idleMs: 3_600_000 })).toEqual([]);
    expect(await ofTask(fresh)).toHaveLength(1);
    expect((await context.read(live)).state).toBe('TASK_STATE_WORKING');
    expect((await context.read(expired)).state).toBe('TASK_STATE_WORKING');
  });

  test('a follow-up that took the lease keeps its turn', async () => {
    const task = await context.makeFreeTask({ state: 'TASK_STATE_WORKING' });
    await context.tick();
    const opened = await context.db.journal.openTurn(followUp(task));
    expect(opened).toEqual({ ok: true, epoch: 2 });
    expect(await ofTask(task)).toEqual([]);
  });
}

function describeSweepers(context: ContractContext, { sweep }: Hands): void {
  test('two sweepers end each once, the oldest first', async () => {
    await sweep();
    const tasks: MadeTask[] = [];
    for (let n = 0; n < 6; n += 1) {
      tasks.push(await context.makeFreeTask());
      await context.tick();
    }
    const ids = tasks.map(({ taskId }) => taskId);
    const first = await sweep({ limit: 1, skip: 1 });
    expect(first.map(({ taskId }) => taskId)).toEqual(ids.splice(1, 1));
    const second = await sweep({ limit: 2 });
    expect(second.map(({ taskId }) => taskId).sort()).toEqual(ids.splice(0, 2).sort());
    const ended: string[] = [];
    while (ended.length < 3) {
      const batch = { ...sweepOf(), limit: 2, idleMs: 0 };
      const done = await Promise.all(
        [context.db, context.second].map((db) => db.journal.sweepLeaseless(batch)),
      );
      ended.push(...done.flat().map(({ taskId }) => taskId));
    }
    expect(ended.sort()).toEqual(ids.sort());
  });
}
