import { describe, expect, test } from '@jest/globals';
import { HOLDER, LONG_TTL_MS, SHORT_TTL_MS, followUp, newTask } from './context.js';
import type { ContractContext, MadeTask } from './context.js';

/** Heartbeats, releases, cancel marks and the clock (protocol 2 and 5). */
export function describeLeases(context: ContractContext): void {
  describe('a beat', () => describeBeat(context));
  describe('a beat of one lease', () => describeBeatOne(context));
  describe('a release', () => describeRelease(context));
  describe('a cancel mark', () => describeMark(context));
  describe('expiry', () => describeExpiry(context));
  describe('the list of leases', () => describeList(context));
  describe('the clock', () => describeClock(context));
}

async function remaining(context: ContractContext, { taskId }: Pick<MadeTask, 'taskId'>): Promise<number> {
  return (await context.db.journal.look({ taskId }))?.lease?.remainingMs ?? Number.NaN;
}

function describeBeat(context: ContractContext): void {
  const beat = (leases: readonly MadeTask[], more = {}) =>
    context.db.leases.beat({
      holder: HOLDER,
      ttlMs: LONG_TTL_MS,
      leases: leases.map(({ taskId, epoch }) => ({ taskId, epoch })),
      ...more,
    });

  test('renews exactly the listed leases', async () => {
    const [one, two, unlisted] = [
      await context.makeTask({ ttlMs: 60_000 }),
      await context.makeTask({ ttlMs: 60_000 }),
      await context.makeTask({ ttlMs: 60_000 }),
    ];
    const renewed = await beat([one, two]);
    const expected = [one, two].map(({ taskId }) => ({ taskId, epoch: 1, cancelAgeMs: null }));
    expect([...renewed].sort((a, b) => (a.taskId < b.taskId ? -1 : 1))).toEqual(
      expected.sort((a, b) => (a.taskId < b.taskId ? -1 : 1)),
    );
    expect(await remaining(context, one)).toBeGreaterThan(60_001);
    expect(await remaining(context, two)).toBeGreaterThan(60_001);
    expect(await remaining(context, unlisted)).toBeLessThan(60_001);
  });

  test('renews a row that has expired and was not swept', async () => {
    const task = await context.makeTask({ ttlMs: SHORT_TTL_MS });
    await context.outlive(task, SHORT_TTL_MS);
    expect(await beat([task])).toEqual([{ taskId: task.taskId, epoch: 1, cancelAgeMs: null }]);
    expect(await remaining(context, task)).toBeGreaterThan(60_000);
  });

  test('renews neither another epoch nor the lease of another holder nor what is gone', async () => {
    const [task, foreign, free] = [
      await context.makeTask({ ttlMs: 60_000 }),
      await context.makeTask({ ttlMs: 60_000, holder: 'replica-b' }),
      await context.makeFreeTask(),
    ];
    expect(await beat([{ ...task, epoch: 2 }, foreign, free])).toEqual([]);
    expect(await remaining(context, task)).toBeLessThan(60_001);
    expect(await remaining(context, foreign)).toBeLessThan(60_001);
    expect(await context.db.leases.readLeases([free.taskId])).toEqual([]);
  });

  test('tells how old a cancel mark is', async () => {
    const task = await context.makeTask();
    await context.db.leases.markCancel(task);
    const renewed = await context.whileTimePasses(
      () => beat([task]),
      ([lease]) => (lease?.cancelAgeMs ?? 0) >= 20,
    );
    expect(renewed).toHaveLength(1);
  });

  test('of no leases renews none', async () => {
    expect(await beat([])).toEqual([]);
  });

  test('renews five hundred at once', async () => {
    const tasks: MadeTask[] = [];
    for (let n = 0; n < 500; n++) tasks.push(await context.makeTask({ ttlMs: 60_000 }));
    expect(await beat(tasks)).toHaveLength(500);
    await context.dropAllLeases();
  });

  test('leaves the pending mark and the version', async () => {
    const task = await context.makePendingTask('TASK_STATE_INPUT_REQUIRED');
    const before = await context.still(task);
    expect(await beat([task])).toHaveLength(1);
    expect(await context.still(task)).toEqual(before);
  });
}

function describeBeatOne(context: ContractContext): void {
  test('renews it, expired or not, and tells of a cancel', async () => {
    const task = await context.makeTask();
    await context.db.leases.markCancel(task);
    await context.expire(task);
    const { taskId, holder } = task;
    const lease = { taskId, epoch: 1 };
    const renewed = await context.db.leases.beatOne({ holder, ttlMs: 60_000, lease, waitMs: 200 });
    expect(renewed).toMatchObject({ taskId, epoch: 1 });
    expect(renewed?.cancelAgeMs).toBeGreaterThanOrEqual(0);
    expect(await remaining(context, task)).toBeGreaterThan(50_000);
  });

  test('renews nothing of another holder, another epoch or a row that is gone', async () => {
    const task = await context.makeTask({ ttlMs: 60_000 });
    const { taskId, holder } = task;
    const one = (more: object) =>
      context.db.leases.beatOne({
        holder,
        ttlMs: LONG_TTL_MS,
        lease: { taskId, epoch: 1 },
        waitMs: 50,
        ...more,
      });
    expect(await one({ holder: 'replica-b' })).toBeNull();
    expect(await one({ lease: { taskId, epoch: 2 } })).toBeNull();
    expect(await one({ lease: { taskId: 'none', epoch: 1 } })).toBeNull();
    expect(await remaining(context, task)).toBeLessThan(60_001);
  });
}

function describeRelease(context: ContractContext): void {
  test('deletes exactly (task, holder, epoch), once', async () => {
    const { taskId, holder } = await context.makeTask();
    expect(await context.db.leases.release({ taskId, holder: 'replica-b', epoch: 1 })).toBe('gone');
    expect(await context.db.leases.release({ taskId, holder, epoch: 2 })).toBe('gone');
    expect(await context.db.leases.readLeases([taskId])).toEqual([{ taskId, holder, epoch: 1 }]);
    expect(await context.db.leases.release({ taskId, holder, epoch: 1 })).toBe('released');
    expect(await context.db.leases.release({ taskId, holder, epoch: 1 })).toBe('gone');
    expect(await context.db.leases.readLeases([taskId])).toEqual([]);
  });

  test('leaves a lease that is marked for a cancel, and says so', async () => {
    const task = await context.makeTask({ state: 'TASK_STATE_INPUT_REQUIRED' });
    const { taskId, holder } = task;
    await context.db.leases.markCancel(task);
    expect(await context.db.leases.release(task)).toBe('cancel_requested');
    expect(await context.db.leases.release(task)).toBe('cancel_requested');
    expect(await context.db.leases.release({ taskId, holder: 'replica-b', epoch: 1 })).toBe('gone');
    expect(await context.db.leases.release({ taskId, holder, epoch: 2 })).toBe('gone');
    const { lease } = await context.read(task);
    expect(lease).toMatchObject({ holder, epoch: 1 });
    expect(lease?.cancelAgeMs).toBeGreaterThanOrEqual(0);
  });

  test('and a mark at the same time: one of the two comes first, and the other knows', async () => {
    for (let round = 0; round < 10; round += 1) {
      const task = await context.makeTask({ state: 'TASK_STATE_INPUT_REQUIRED' });
      const [released, , marked] = await Promise.all([
        context.db.leases.release(task),
        context.second.leases.beat({ holder: task.holder, ttlMs: 60_000, leases: [task] }),
        context.second.leases.markCancel(task),
      ]);
      expect(released).toBe(marked === null ? 'released' : 'cancel_requested');
      expect(await context.db.leases.readLeases([task.taskId])).toHaveLength(marked === null ? 0 : 1);
    }
  });

  test('leaves the task as it was', async () => {
    const task = await context.makeTask();
    await context.db.leases.release(task);
    expect(await context.read(task)).toMatchObject({ state: 'TASK_STATE_WORKING', version: 1 });
  });
}

function describeMark(context: ContractContext): void {
  test('keeps the time of the first', async () => {
    const task = await context.makeTask();
    const first = await context.db.leases.markCancel(task);
    expect(first?.cancelAgeMs).toBeGreaterThanOrEqual(0);
    await context.whileTimePasses(
      () => context.second.leases.markCancel(task),
      (mark) => (mark?.cancelAgeMs ?? 0) >= 20,
    );
  });

  test('is seen by look, read and heads', async () => {
    const task = await context.makeTask();
    await context.db.leases.markCancel(task);
    const look = await context.db.journal.look({ taskId: task.taskId });
    expect(look?.lease?.cancelAgeMs).toBeGreaterThanOrEqual(0);
    expect((await context.read(task)).lease?.cancelAgeMs).toBeGreaterThanOrEqual(0);
    const [head] = await context.db.log.readHeads([task.taskId]);
    expect(head?.lease?.cancelAgeMs).toBeGreaterThanOrEqual(0);
  });

  test('finds only a lease of that epoch', async () => {
    const task = await context.makeTask();
    expect(await context.db.leases.markCancel({ taskId: task.taskId, epoch: 2 })).toBeNull();
    expect(await context.db.leases.markCancel({ taskId: 'none', epoch: 1 })).toBeNull();
    expect((await context.read(task)).lease?.cancelAgeMs).toBeNull();
  });

  test('does not outlive its turn', async () => {
    const task = await context.makeTask({ state: 'TASK_STATE_INPUT_REQUIRED' });
    await context.db.leases.markCancel(task);
    await context.db.leases.expireNow(task.taskId);
    expect(await context.db.journal.openTurn(followUp(task))).toEqual({ ok: true, epoch: 2 });
    expect((await context.read(task)).lease?.cancelAgeMs).toBeNull();
  });
}

function describeExpiry(context: ContractContext): void {
  test('comes when the time to live has passed', async () => {
    const task = await context.makeTask({ ttlMs: SHORT_TTL_MS });
    expect(await remaining(context, task)).toBeLessThanOrEqual(SHORT_TTL_MS + 1);
    await context.outlive(task, SHORT_TTL_MS);
    expect(await remaining(context, task)).toBeLessThan(0);
  });

  test('comes at once when an operator asks', async () => {
    const task = await context.makeTask();
    expect(await context.db.leases.expireNow(task.taskId)).toBe(true);
    expect(await remaining(context, task)).toBeLessThanOrEqual(1);
    expect(await context.db.leases.readLeases([task.taskId])).toHaveLength(1);
    expect(await context.db.leases.expireNow('none')).toBe(false);
  });

  test('of the earliest lease is told, negative when it has passed', async () => {
    await context.dropAllLeases();
    expect(await context.db.leases.nextExpiry()).toBeNull();
    await context.makeTask({ ttlMs: LONG_TTL_MS });
    const task = await context.makeTask({ ttlMs: 60_000 });
    const next = (await context.db.leases.nextExpiry()) ?? Number.NaN;
    expect(next).toBeGreaterThan(50_000);
    expect(next).toBeLessThanOrEqual(60_001);
    await context.expire(task);
    expect(await context.db.leases.nextExpiry()).toBeLessThan(0);
  });

  test('that lies too far ahead is cut, and no other', async () => {
    await context.dropAllLeases();
    const [far, near, dead] = [
      await context.makeTask({ ttlMs: 30_000 }),
      await context.makeTask({ ttlMs: 15_000 }),
      await context.makeTask(),
    ];
    await context.expire(dead);
    expect(await context.db.leases.clampFuture(10_000)).toBe(1);
    expect(await remaining(context, far)).toBeLessThanOrEqual(10_001);
    expect(await remaining(context, far)).toBeGreaterThan(5_000);
    expect(await remaining(context, near)).toBeGreaterThan(10_001);
    expect(await remaining(context, dead)).toBeLessThan(0);
    expect(await context.db.leases.clampFuture(10_000)).toBe(0);
  });
}

function describeList(context: ContractContext): void {
  test('has the earliest to expire first, with owner, age and rest', async () => {
    await context.dropAllLeases();
    const late = await context.makeTask({ ttlMs: LONG_TTL_MS });
    const early = await context.makeTask({ ttlMs: 60_000 });
    const pending = await context.makePendingTask('TASK_STATE_INPUT_REQUIRED');
    await context.db.leases.expireNow(pending.taskId);
    const listed = await context.db.leases.listLeases(10);
    expect(listed.map((lease) => lease.taskId)).toEqual([pending.taskId, early.taskId, late.taskId]);
    const { taskId, holder, scope } = early;
    expect(listed[1]).toMatchObject({
      taskId,
      holder,
      ...scope,
      epoch: 1,
      pending: false,
      cancelAgeMs: null,
    });
    expect(listed[0]).toMatchObject({ pending: true, epoch: 2 });
    expect(listed[1]?.ageMs).toBeGreaterThanOrEqual(0);
    expect(listed[1]?.ageMs).toBeLessThan(30_000);
    expect(listed[1]?.remainingMs).toBeGreaterThan(30_000);
    expect(await context.db.leases.listLeases(1)).toHaveLength(1);
  });

  test('can be asked for some tasks, in any order, whoever holds them', async () => {
    const [one, two] = [await context.makeTask(), await context.makeTask({ holder: 'replica-b' })];
    const none = newTask();
    const rows = await context.db.leases.readLeases([two.taskId, none.taskId, one.taskId]);
    expect(new Map(rows.map((row) => [row.taskId, row]))).toEqual(
      new Map([one, two].map(({ taskId, holder }) => [taskId, { taskId, holder, epoch: 1 }])),
    );
    expect(await context.db.leases.readLeases([])).toEqual([]);
  });
}

function describeClock(context: ContractContext): void {
  test('advances, and is the same for every replica', async () => {
    const first = await context.db.leases.readClock();
    const later = await context.whileTimePasses(
      () => context.second.leases.readClock(),
      (clock) => clock.nowMs > first.nowMs,
    );
    expect(later.identity).toBe(first.identity);
    expect(typeof first.nowMs).toBe('number');
    expect(first.nowMs).toBeGreaterThan(Date.parse('2020-01-01T00:00:00Z'));
  });
}
