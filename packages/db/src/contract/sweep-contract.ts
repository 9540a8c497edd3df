import { describe, expect, test } from '@jest/globals';
import { createSystemClock, decodeEvent, encodeEvent, failureReasonOf } from '@a2a-cluster/core';
import type { SweptLease } from '../statements/journal-statements.js';
import { HOLDER, event, followUp, sweepOf, writeOf } from './context.js';
import type { ContractContext, MadeTask } from './context.js';

/** What a sweep does to expired leases (protocol 6). */
export function describeSweep(context: ContractContext): void {
  describe('the verdict', () => describeVerdict(context));
  describe('the age of an expiry', () => describeAge(context));
  describe('which leases a sweep takes', () => describeBatch(context));
  describe('several sweepers', () => describeParallel(context));
  describe('leases without a task', () => describeOrphans(context));
}

function describeVerdict(context: ContractContext): void {
  const sweepOne = async (task: MadeTask): Promise<readonly SweptLease[]> => {
    await context.expire(task);
    return (await context.db.journal.sweep(sweepOf({ taskId: task.taskId }))).swept;
  };

  async function expectFailed(task: MadeTask, epoch: number): Promise<void> {
    const before = await context.read(task);
    const swept = await sweepOne(task);
    const { taskId, scope, holder } = task;
    const seq = before.version + 1;
    const failed = { seq, payload: expect.any(String) };
    expect(swept).toEqual([{ taskId, scope, holder, epoch, expiredForMs: expect.any(Number), failed }]);
    const after = await context.read(task);
    expect(after).toMatchObject({ state: 'TASK_STATE_FAILED', version: seq, lease: null });
    const row = { seq, kind: 'statusUpdate', holder: 'replica-sweeper', epoch, messageId: null };
    expect(after.events.at(-1)).toMatchObject({ ...row, payload: swept[0]?.failed?.payload });
    const { rows } = await context.db.tasks.list({ scope, limit: 1 });
    expect(rows).toMatchObject([{ statusTimestamp: '2026-01-03T00:00:00.000Z' }]);
  }

  async function expectDropped(task: MadeTask): Promise<void> {
    const before = await context.read(task);
    const { taskId, scope, holder, epoch } = task;
    const expiredForMs: unknown = expect.any(Number);
    expect(await sweepOne(task)).toEqual([{ taskId, scope, holder, epoch, expiredForMs, failed: null }]);
    expect(await context.read(task)).toEqual({ ...before, lease: null });
  }

  test.each(['SUBMITTED', 'WORKING', 'AUTH_REQUIRED'])('fails a turn in %s', async (name) => {
    await expectFailed(await context.makeTask({ state: `TASK_STATE_${name}` }), 1);
  });

  test.each(['INPUT_REQUIRED', 'WORKING', 'AUTH_REQUIRED'])('fails a pending turn in %s', async (name) => {
    await expectFailed(await context.makePendingTask(`TASK_STATE_${name}`), 2);
  });

  test('drops the lease of a turn that had ended in INPUT_REQUIRED', async () => {
    await expectDropped(await context.makeTask({ state: 'TASK_STATE_INPUT_REQUIRED' }));
  });

  test.each(['COMPLETED', 'FAILED', 'CANCELED', 'REJECTED'])(
    'drops a lease left on a %s task',
    async (name) => {
      const task = await context.makeTask();
      await context.tamper.setState(task.taskId, `TASK_STATE_${name}`);
      await expectDropped(task);
    },
  );

  test('says in the FAILED event what happened, and to clients nothing of the replicas', async () => {
    const task = await context.makeTask({ contextId: 'c "quoted" \\ \u{1F600}' });
    const [swept] = await sweepOne(task);
    const payload = swept?.failed?.payload ?? '';
    const { kind, data } = decodeEvent('statusUpdate', payload);
    if (kind !== 'statusUpdate') throw new Error(`a ${kind}`);
    expect(data).toMatchObject({ taskId: task.taskId, contextId: task.contextId });
    expect(data.status).toMatchObject({ timestamp: '2026-01-03T00:00:00.000Z' });
    expect(failureReasonOf(data.metadata)).toBe('replica_lost');
    const detail: unknown = data.metadata?.['a2a-cluster'];
    expect(detail).toEqual({
      reason: 'replica_lost',
      expiredAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect(data.status?.message?.parts[0]?.content).toEqual({
      $case: 'text',
      value: 'The replica was lost.',
    });
    expect(data.status?.message?.messageId).toBe(`sweep:${task.taskId}:1`);
    expect(encodeEvent({ kind, data })).toBe(payload);
    const own = { taskId: task.taskId, seq: 2, writeId: `sweep:${task.taskId}:1` };
    expect(await context.db.journal.findOwnWrite(own)).toBe(true);
    expect(payload).not.toContain(HOLDER);
    expect(payload).not.toContain('replica-sweeper');
  });

  test('fences the holder it took the lease from', async () => {
    const task = await context.makeTask({ state: 'TASK_STATE_INPUT_REQUIRED' });
    await sweepOne(task);
    expect(await context.db.journal.commit(writeOf(task))).toEqual({ ok: false });
    expect(await context.db.leases.beat({ holder: HOLDER, ttlMs: 60_000, leases: [task] })).toEqual([]);
    expect(await context.db.journal.openTurn(followUp(task))).toEqual({ ok: true, epoch: 2 });
  });
}

function describeAge(context: ContractContext): void {
  test('says how long ago the lease had expired', async () => {
    const clock = createSystemClock();
    const task = await context.makeTask();
    await context.expire(task);
    const beganMs = clock.monotonicMs();
    const listed = await context.db.leases.listLeases(1_000);
    const [swept] = (await context.db.journal.sweep(sweepOf({ taskId: task.taskId }))).swept;
    const tookMs = clock.monotonicMs() - beganMs;
    const atLeastMs = -(listed.find((lease) => lease.taskId === task.taskId)?.remainingMs ?? NaN);
    // Moments are kept in whole milliseconds somewhere on the way.
    expect(swept?.expiredForMs).toBeGreaterThanOrEqual(Math.max(0, atLeastMs - 1));
    expect(swept?.expiredForMs).toBeLessThanOrEqual(atLeastMs + tookMs + 2);
  });
}

function describeBatch(context: ContractContext): void {
  async function expiredTasks(count: number): Promise<MadeTask[]> {
    await context.dropAllLeases();
    const tasks: MadeTask[] = [];
    for (let n = 0; n < count; n++) {
      const task = await context.makeTask();
      await context.expire(task);
      tasks.push(task);
    }
    return tasks;
  }
  const idsOf = (rows: readonly { readonly taskId: string }[]): string[] =>
    rows.map((row) => row.taskId).sort();

  test('leaves what has not expired', async () => {
    await context.dropAllLeases();
    const task = await context.makeTask();
    const before = await context.still(task);
    expect(await context.db.journal.sweep(sweepOf())).toEqual({ swept: [], candidates: 0 });
    expect(await context.db.journal.sweep(sweepOf({ taskId: task.taskId }))).toMatchObject({ swept: [] });
    expect(await context.still(task)).toEqual(before);
  });

  test('takes no more than its limit, the longest expired first', async () => {
    const tasks = await expiredTasks(3);
    const first = await context.db.journal.sweep(sweepOf({ limit: 2 }));
    expect(first.candidates).toBe(2);
    expect(idsOf(first.swept)).toEqual(idsOf(tasks.slice(0, 2)));
    const rest = await context.db.journal.sweep(sweepOf({ limit: 2 }));
    expect(idsOf(rest.swept)).toEqual(idsOf(tasks.slice(2)));
    expect(await context.db.journal.sweep(sweepOf())).toEqual({ swept: [], candidates: 0 });
  });

  test('takes only the task it is told', async () => {
    const [one, two] = await expiredTasks(2);
    if (!one || !two) throw new Error('two tasks');
    const { swept } = await context.db.journal.sweep(sweepOf({ taskId: two.taskId }));
    expect(idsOf(swept)).toEqual([two.taskId]);
    expect(await context.db.leases.readLeases([one.taskId, two.taskId])).toMatchObject([
      { taskId: one.taskId },
    ]);
  });

  test('passes over the tasks it is told to leave, without counting them in the limit', async () => {
    const [one, two, three] = await expiredTasks(3);
    if (!one || !two || !three) throw new Error('three tasks');
    const except = [one.taskId, two.taskId];
    const { swept } = await context.db.journal.sweep(sweepOf({ limit: 1, except }));
    expect(idsOf(swept)).toEqual([three.taskId]);
    expect(await context.db.leases.readLeases(except)).toHaveLength(2);
    await context.dropAllLeases();
  });

  test('takes mixed verdicts in one batch', async () => {
    await context.dropAllLeases();
    const parked = await context.makeTask({ state: 'TASK_STATE_INPUT_REQUIRED' });
    const working = await context.makeTask();
    for (const task of [parked, working]) await context.expire(task);
    const { swept } = await context.db.journal.sweep(sweepOf());
    const failed = new Map(swept.map((lease) => [lease.taskId, lease.failed?.seq ?? null]));
    expect(failed).toEqual(
      new Map([
        [parked.taskId, null],
        [working.taskId, 2],
      ]),
    );
  });
}

function describeParallel(context: ContractContext): void {
  test('end each turn exactly once, with one FAILED event', async () => {
    await context.dropAllLeases();
    const tasks: MadeTask[] = [];
    for (let n = 0; n < 30; n++) tasks.push(await context.makeTask({ events: [event('task'), event()] }));
    for (const task of tasks) await context.db.leases.expireNow(task.taskId);
    for (const task of tasks) await context.expire(task);

    const swept: SweptLease[] = [];
    const sweeper = async (name: string, db: ContractContext['db']): Promise<void> => {
      for (let left = 1; left > 0; left = (await context.db.leases.listLeases(1)).length) {
        swept.push(...(await db.journal.sweep(sweepOf({ sweeper: name, limit: 4 }))).swept);
      }
    };
    const databases = [context.db, context.second, context.db, context.second];
    await Promise.all(databases.map((db, index) => sweeper(`replica-${index}`, db)));

    expect(swept.map((lease) => lease.taskId).sort()).toEqual(tasks.map((task) => task.taskId).sort());
    for (const task of tasks) {
      const { version, state, events } = await context.read(task);
      expect({ version, state, rows: events.length }).toEqual({
        version: 3,
        state: 'TASK_STATE_FAILED',
        rows: 3,
      });
    }
  });

  test('and a follow-up at the same moment: the task is taken by one of them', async () => {
    const task = await context.makeTask({ state: 'TASK_STATE_INPUT_REQUIRED' });
    await context.expire(task);
    const [sweep, opened] = await Promise.all([
      context.second.journal.sweep(sweepOf({ taskId: task.taskId })),
      context.db.journal.openTurn(followUp(task)),
    ]);
    const stored = await context.read(task);
    expect(sweep.swept.length).toBeLessThanOrEqual(1);
    expect(opened).toEqual({ ok: true, epoch: 2 });
    expect(stored).toMatchObject({ version: 2, lease: { holder: 'replica-b', epoch: 2 } });
  });
}

function describeOrphans(context: ContractContext): void {
  test('are deleted when they have expired, and only those', async () => {
    await context.dropAllLeases();
    const [orphan, young, normal] = [
      await context.makeTask(),
      await context.makeTask(),
      await context.makeTask(),
    ];
    for (const task of [orphan, normal]) await context.expire(task);
    for (const task of [orphan, young]) await context.tamper.deleteTask(task.taskId);
    expect(await context.db.journal.sweepOrphans(10)).toEqual([orphan.taskId]);
    expect(await context.db.journal.sweepOrphans(10)).toEqual([]);
    const left = await context.db.leases.listLeases(10);
    expect(left.map((lease) => lease.taskId).sort()).toEqual([young.taskId, normal.taskId].sort());
    await context.dropAllLeases();
  });

  test('are no concern of the sweep of tasks', async () => {
    await context.dropAllLeases();
    const orphan = await context.makeTask();
    await context.expire(orphan);
    await context.tamper.deleteTask(orphan.taskId);
    expect((await context.db.journal.sweep(sweepOf())).swept).toEqual([]);
    expect(await context.db.leases.readLeases([orphan.taskId])).toHaveLength(1);
    expect(await context.db.journal.sweepOrphans(10)).toEqual([orphan.taskId]);
  });

  test('are deleted up to a limit', async () => {
    await context.dropAllLeases();
    for (let n = 0; n < 3; n++) {
      const orphan = await context.makeTask();
      await context.expire(orphan);
      await context.tamper.deleteTask(orphan.taskId);
    }
    expect(await context.db.journal.sweepOrphans(2)).toHaveLength(2);
    expect(await context.db.journal.sweepOrphans(2)).toHaveLength(1);
  });
}
