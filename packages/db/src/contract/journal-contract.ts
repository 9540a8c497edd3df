import { describe, expect, test } from '@jest/globals';
import { completionOf, event, freshScope, newTask, until, writeOf } from './context.js';
import type { ContractContext, MadeTask } from './context.js';

/** New tasks, writes under a lease, and cancels (protocol 3). */
export function describeJournal(context: ContractContext): void {
  describe('the first write of a task', () => describeCreate(context));
  describe('compare and swap', () => describeSwap(context));
  describe('what a batch does', () => describeBatch(context));
  describe('the fence', () => describeFence(context));
  describe('terminal is final', () => describeTerminal(context));
  describe('a cancel without a lease', () => describeCancel(context));
  describe('looking', () => describeLook(context));
}

function describeCreate(context: ContractContext): void {
  test('stores task, events and lease together', async () => {
    const create = newTask({
      events: [event('task', { messageId: 'm-1' }), event('artifactUpdate'), event()],
    });
    expect(await context.db.journal.createTask(create)).toEqual({ ok: true, version: 3 });
    const stored = await context.read(create);
    const { scope, contextId, state } = create;
    expect(stored).toMatchObject({ scope, contextId, state, version: 3, snapshot: null, snapshotVersion: 0 });
    expect(stored.lease).toMatchObject({
      holder: create.holder,
      epoch: 1,
      pending: false,
      cancelAgeMs: null,
    });
    expect(stored.events).toEqual(
      create.events.map(({ kind, payload, messageId = null }, index) => ({
        taskId: create.taskId,
        seq: index + 1,
        kind,
        payload,
        messageId,
        holder: create.holder,
        epoch: 1,
      })),
    );
  });

  test('gives a lease that lasts its time to live by the clock of the database', async () => {
    const { taskId } = await context.makeTask({ ttlMs: 60_000 });
    const look = await context.db.journal.look({ taskId });
    expect(look?.lease?.remainingMs).toBeGreaterThan(50_000);
    expect(look?.lease?.remainingMs).toBeLessThanOrEqual(60_001);
  });

  test('of a task that ends at once leaves no lease', async () => {
    const task = await context.makeTask({
      state: 'TASK_STATE_COMPLETED',
      terminal: true,
      snapshot: '{"s":1}',
    });
    const stored = await context.read(task);
    expect(stored).toMatchObject({ lease: null, snapshot: '{"s":1}', snapshotVersion: 1, events: [] });
    expect(await context.db.leases.readLeases([task.taskId])).toEqual([]);
  });

  test('is refused when the id is there, and changes nothing', async () => {
    const task = await context.makeTask();
    const before = await context.still(task);
    const again = newTask({ taskId: task.taskId, holder: 'replica-b', snapshot: '{"other":1}' });
    expect(await context.db.journal.createTask(again)).toEqual({ ok: false, refusal: 'exists' });
    expect(await context.still(task)).toEqual(before);
    expect(await context.read(task)).toMatchObject({ snapshot: null });
  });

  test('is stored once when replicas race for the same id', async () => {
    const first = newTask({ events: [event('task'), event()] });
    const databases = [context.db, context.second, context.db, context.second];
    const outcomes = await Promise.all(
      databases.map((db, index) => db.journal.createTask({ ...first, holder: `replica-${index}` })),
    );
    expect(outcomes.filter((outcome) => outcome.ok)).toHaveLength(1);
    const stored = await context.read(first);
    expect(new Set(stored.events.map((row) => row.holder))).toEqual(new Set([stored.lease?.holder]));
    expect(stored.events).toHaveLength(2);
  });
}

function describeSwap(context: ContractContext): void {
  test('refuses a write that does not know the last event', async () => {
    const task = await context.makeTask({ events: [event('task'), event()] });
    const before = await context.still(task);
    for (const expectedVersion of [0, 1, 3]) {
      const write = writeOf(task, { expectedVersion, state: 'TASK_STATE_INPUT_REQUIRED' });
      expect(await context.db.journal.commit(write)).toEqual({ ok: false });
    }
    expect(await context.still(task)).toEqual(before);
  });

  test('lets one of several writes at the same version through', async () => {
    const task = await context.makeTask();
    const databases = [context.db, context.second, context.db, context.second, context.db];
    const outcomes = await Promise.all(
      databases.map((db) => db.journal.commit(writeOf(task, { events: [event(), event()] }))),
    );
    expect(outcomes.filter((outcome) => outcome.ok)).toEqual([{ ok: true, version: 3 }]);
    const stored = await context.read(task);
    expect(stored.events.map((row) => row.seq)).toEqual([1, 2, 3]);
  });

  test('refuses a task that is not there', async () => {
    const task: MadeTask = { ...newTask(), epoch: 1, version: 1 };
    expect(await context.db.journal.commit(writeOf(task))).toEqual({ ok: false });
    expect(await context.db.log.readEvents({ taskId: task.taskId, after: 0, limit: 10 })).toEqual([]);
  });
}

function describeBatch(context: ContractContext): void {
  test('numbers its events without a gap, in their order', async () => {
    const task = await context.makeTask();
    const events = [event('artifactUpdate'), event('statusUpdate'), event('task'), event('artifactUpdate')];
    expect(await context.db.journal.commit(writeOf(task, { events }))).toEqual({ ok: true, version: 5 });
    const rows = await context.db.log.readEvents({ taskId: task.taskId, after: 1, limit: 10 });
    expect(rows.map(({ seq, kind, payload }) => ({ seq, kind, payload }))).toEqual(
      events.map(({ kind, payload }, index) => ({ seq: index + 2, kind, payload })),
    );
    expect(rows.every((row) => row.holder === task.holder && row.epoch === 1)).toBe(true);
  });

  test('of a thousand events is stored as one', async () => {
    const task = await context.makeTask();
    const events = Array.from({ length: 1_000 }, () => event('artifactUpdate'));
    expect(await context.db.journal.commit(writeOf(task, { events }))).toEqual({ ok: true, version: 1_001 });
    expect((await context.read(task)).events).toHaveLength(1_001);
  });

  test('leaves state, status time and snapshot when it does not name them', async () => {
    const task = await context.makeTask({ snapshot: '{"at":1}' });
    await context.db.journal.commit(writeOf(task));
    const stored = await context.read(task);
    expect(stored).toMatchObject({ state: 'TASK_STATE_WORKING', snapshot: '{"at":1}', snapshotVersion: 1 });
    const { rows } = await context.db.tasks.list({ scope: task.scope, limit: 10 });
    expect(rows).toMatchObject([{ statusTimestamp: '2026-01-01T00:00:00.000Z', version: 2 }]);
  });

  test('moves state, status time and snapshot when it names them', async () => {
    const task = await context.makeTask({ snapshot: '{"at":1}' });
    const statusTimestamp = '2026-02-02T02:02:02.020Z';
    const move = { state: 'TASK_STATE_INPUT_REQUIRED', statusTimestamp, snapshot: '{"at":3}' };
    await context.db.journal.commit(writeOf(task, { ...move, events: [event(), event()] }));
    const stored = await context.read(task);
    expect(stored).toMatchObject({ state: move.state, snapshot: '{"at":3}', snapshotVersion: 3, events: [] });
    const { rows } = await context.db.tasks.list({ scope: task.scope, limit: 10 });
    expect(rows).toMatchObject([{ statusTimestamp, state: move.state }]);
  });

  test('clears the pending mark only when it carries a status', async () => {
    const task = await context.makePendingTask('TASK_STATE_INPUT_REQUIRED');
    await context.db.journal.commit(writeOf(task));
    expect((await context.read(task)).lease).toMatchObject({ pending: true });
    const next = { ...task, version: task.version + 1 };
    await context.db.journal.commit(writeOf(next, { clearsPending: true, state: 'TASK_STATE_WORKING' }));
    expect((await context.read(task)).lease).toMatchObject({ pending: false, epoch: task.epoch });
  });

  test('with a message the log has already is a fault and stores nothing', async () => {
    const task = await context.makeTask({ events: [event('task', { messageId: 'm-1' })] });
    const before = await context.still(task);
    const events = [event(), event('message', { messageId: 'm-1' })];
    const write = context.db.journal.commit(writeOf(task, { events, state: 'TASK_STATE_INPUT_REQUIRED' }));
    await expect(write).rejects.toMatchObject({ name: 'ClusterError', code: 'STORE_FAULT' });
    expect(await context.still(task)).toEqual(before);
  });
}

function describeFence(context: ContractContext): void {
  async function expectRefused(task: MadeTask, write: MadeTask): Promise<void> {
    const before = await context.still(task);
    const outcome = await context.db.journal.commit(writeOf(write, { snapshot: '{"zombie":1}' }));
    expect(outcome).toEqual({ ok: false });
    expect(await context.still(task)).toEqual(before);
    expect(await context.read(task)).toMatchObject({ snapshot: null });
  }

  test('stops another holder at the right epoch', async () => {
    const task = await context.makeTask();
    await expectRefused(task, { ...task, holder: 'replica-b' });
  });

  test('stops the right holder at another epoch', async () => {
    const task = await context.makeTask();
    await expectRefused(task, { ...task, epoch: 2 });
  });

  test('stops a holder whose lease was released', async () => {
    const task = await context.makeFreeTask();
    await expectRefused(task, task);
  });

  test('stops a holder whose lease has expired, swept or not', async () => {
    const task = await context.makeTask({ ttlMs: 150 });
    await context.outlive(task, 150);
    await expectRefused(task, task);
  });

  test('stops the earlier turn of a replica that holds the lease again', async () => {
    const task = await context.makeTask();
    const { taskId, holder, scope } = task;
    await context.db.leases.release({ taskId, holder, epoch: 1 });
    const message = event('message', { messageId: 'again' });
    const open = { taskId, scope, contextId: null, holder, ttlMs: 60_000, event: message, takeOver: true };
    expect(await context.db.journal.openTurn(open)).toEqual({ ok: true, epoch: 2 });
    await expectRefused(task, { ...task, version: 2 });
  });

  test('lets the holder go on after a renewal', async () => {
    const task = await context.makeTask();
    await context.expire(task);
    await context.db.leases.beat({ holder: task.holder, ttlMs: 60_000, leases: [task] });
    expect(await context.db.journal.commit(writeOf(task))).toEqual({ ok: true, version: 2 });
  });
}

function describeTerminal(context: ContractContext): void {
  test('and drops the lease in the same write', async () => {
    const task = await context.makeTask();
    expect(await context.db.journal.commit(completionOf(task))).toEqual({ ok: true, version: 2 });
    expect(await context.read(task)).toMatchObject({ state: 'TASK_STATE_COMPLETED', lease: null });
    expect(await context.db.leases.readLeases([task.taskId])).toEqual([]);
  });

  test.each(['COMPLETED', 'FAILED', 'CANCELED', 'REJECTED'])('for %s, whoever writes', async (name) => {
    const task = await context.makeTask();
    const state = `TASK_STATE_${name}`;
    const end = writeOf(task, { state, terminal: true, statusTimestamp: '2026-01-02T00:00:00.000Z' });
    await context.db.journal.commit(end);
    const before = await context.still(task);
    const { taskId, scope, holder } = task;
    expect(await context.db.journal.commit(writeOf({ ...task, version: 2 }))).toEqual({ ok: false });
    const cancel = {
      taskId,
      scope,
      holder,
      expectedVersion: 2,
      epoch: 2,
      event: event(),
      statusTimestamp: 'x',
    };
    expect(await context.db.journal.cancel(cancel)).toEqual({ ok: false });
    expect(await context.still(task)).toEqual(before);
  });

  test('even where a lease was left behind', async () => {
    const task = await context.makeTask();
    await context.tamper.setState(task.taskId, 'TASK_STATE_REJECTED');
    const before = await context.still(task);
    expect(await context.db.journal.commit(writeOf(task))).toEqual({ ok: false });
    expect(await context.still(task)).toEqual(before);
  });
}

function describeCancel(context: ContractContext): void {
  const statusTimestamp = '2026-01-05T00:00:00.000Z';
  const cancelOf = (task: MadeTask, more = {}) => ({
    taskId: task.taskId,
    scope: task.scope,
    expectedVersion: task.version,
    event: event(),
    statusTimestamp,
    holder: 'replica-canceller',
    epoch: task.epoch,
    ...more,
  });

  test('ends a task that nobody runs', async () => {
    const task = await context.makeFreeTask({ state: 'TASK_STATE_INPUT_REQUIRED' });
    const cancel = cancelOf(task);
    expect(await context.db.journal.cancel(cancel)).toEqual({ ok: true, version: 2 });
    const stored = await context.read(task);
    expect(stored).toMatchObject({ state: 'TASK_STATE_CANCELED', version: 2, lease: null });
    const { payload } = cancel.event;
    expect(stored.events.at(-1)).toMatchObject({ seq: 2, payload, holder: 'replica-canceller', epoch: 1 });
    const { rows } = await context.db.tasks.list({ scope: task.scope, limit: 1 });
    expect(rows).toMatchObject([{ statusTimestamp }]);
  });

  test('ends a running turn and fences its holder', async () => {
    const task = await context.makeTask();
    expect(await context.db.journal.cancel(cancelOf(task))).toEqual({ ok: true, version: 2 });
    expect(await context.db.leases.readLeases([task.taskId])).toEqual([]);
    expect(await context.db.journal.commit(writeOf(task))).toEqual({ ok: false });
    expect(await context.db.journal.commit(writeOf({ ...task, version: 2 }))).toEqual({ ok: false });
  });

  test('is refused when an event came in between', async () => {
    const task = await context.makeTask();
    await context.db.journal.commit(writeOf(task));
    const before = await context.still(task);
    expect(await context.db.journal.cancel(cancelOf(task))).toEqual({ ok: false });
    expect(await context.db.journal.cancel(cancelOf(task, { expectedVersion: 3 }))).toEqual({ ok: false });
    expect(await context.still(task)).toEqual(before);
  });

  test("is refused for another owner's or tenant's task", async () => {
    const task = await context.makeTask();
    const before = await context.still(task);
    for (const scope of [
      freshScope(),
      { ...task.scope, tenant: 'other' },
      { ...task.scope, owner: 'other' },
    ]) {
      expect(await context.db.journal.cancel(cancelOf(task, { scope }))).toEqual({ ok: false });
    }
    expect(await context.still(task)).toEqual(before);
  });

  test('and a write of the holder at the same version: one of them is stored', async () => {
    const task = await context.makeTask();
    const [cancelled, written] = await Promise.all([
      context.second.journal.cancel(cancelOf(task)),
      context.db.journal.commit(writeOf(task)),
    ]);
    expect([cancelled.ok, written.ok].filter(Boolean)).toHaveLength(1);
    expect((await context.read(task)).version).toBe(2);
  });
}

function describeLook(context: ContractContext): void {
  test('shows task and lease, scoped where a scope is named', async () => {
    const task = await context.makeTask();
    const { taskId, scope, contextId } = task;
    const look = await context.db.journal.look({ taskId });
    expect(look).toMatchObject({ scope, contextId, state: 'TASK_STATE_WORKING', version: 1 });
    expect(look?.lease).toMatchObject({ holder: task.holder, epoch: 1, pending: false, cancelAgeMs: null });
    expect(await context.db.journal.look({ taskId, scope })).toMatchObject({ version: 1 });
    expect(await context.db.journal.look({ taskId, scope: { ...scope, owner: 'other' } })).toBeNull();
    expect(await context.db.journal.look({ taskId, scope: { ...scope, tenant: 'other' } })).toBeNull();
    expect(await context.db.journal.look({ taskId: `${taskId}-not` })).toBeNull();
  });

  test('shows no lease where there is none, and an expired one as expired', async () => {
    const free = await context.makeFreeTask();
    expect(await context.db.journal.look(free)).toMatchObject({ lease: null });
    const task = await context.makeTask();
    await context.expire(task);
    const look = await context.db.journal.look({ taskId: task.taskId });
    expect(look?.lease).toMatchObject({ holder: task.holder, epoch: 1 });
    expect(look?.lease?.remainingMs).toBeLessThanOrEqual(0);
  });

  test('sees at once what another replica has written', async () => {
    const task = await context.makeTask();
    await context.second.journal.commit(writeOf(task));
    await until(
      () => context.db.journal.look({ taskId: task.taskId }),
      (look) => look?.version === 2,
      0,
    );
  });

  test('for an own write finds exactly (task, seq, write id)', async () => {
    const task = await context.makeTask();
    const events = [event(), event()];
    await context.db.journal.commit(writeOf(task, { events }));
    const writeId = events[1]?.writeId ?? '';
    const { taskId } = task;
    expect(await context.db.journal.findOwnWrite({ taskId, seq: 3, writeId })).toBe(true);
    expect(await context.db.journal.findOwnWrite({ taskId, seq: 2, writeId })).toBe(false);
    expect(await context.db.journal.findOwnWrite({ taskId, seq: 4, writeId })).toBe(false);
    expect(await context.db.journal.findOwnWrite({ taskId, seq: 3, writeId: 'another' })).toBe(false);
    expect(await context.db.journal.findOwnWrite({ taskId: 'none', seq: 3, writeId })).toBe(false);
  });
}
