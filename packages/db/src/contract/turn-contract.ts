import { describe, expect, test } from '@jest/globals';
import { completionOf, event, followUp, freshScope, newTask, writeOf } from './context.js';
import type { ContractContext, MadeTask } from './context.js';
import type { OpenTurn } from '../statements/journal-statements.js';

/** Follow-ups that ask for a task's lease (protocol 4). */
export function describeTurns(context: ContractContext): void {
  describe('an admitted follow-up', () => describeAdmitted(context));
  describe('a follow-up to the wrong task', () => describeWrongTask(context));
  describe('a follow-up to a held task', () => describeHeld(context));
  describe('a follow-up to an expired lease', () => describeExpired(context));
  describe('a message that was sent before', () => describeDuplicate(context));
  describe('a follow-up to a task with many messages', () => describeFull(context));
}

function describeAdmitted(context: ContractContext): void {
  test('holds the lease at the seq of its message, marked pending', async () => {
    const task = await context.makeFreeTask({ state: 'TASK_STATE_INPUT_REQUIRED' });
    const open = followUp(task, { contextId: task.contextId, ttlMs: 60_000 });
    expect(await context.db.journal.openTurn(open)).toEqual({ ok: true, epoch: 2 });
    const stored = await context.read(task);
    expect(stored).toMatchObject({ version: 2, state: 'TASK_STATE_INPUT_REQUIRED' });
    expect(stored.lease).toMatchObject({ holder: 'replica-b', epoch: 2, pending: true, cancelAgeMs: null });
    expect(stored.lease?.remainingMs).toBeGreaterThan(50_000);
    expect(stored.events.at(-1)).toEqual({
      taskId: task.taskId,
      seq: 2,
      kind: 'message',
      payload: open.event.payload,
      messageId: open.event.messageId,
      holder: 'replica-b',
      epoch: 2,
    });
  });

  test.each(['SUBMITTED', 'WORKING', 'INPUT_REQUIRED', 'AUTH_REQUIRED'])(
    'may find the task in %s when nobody runs it',
    async (name) => {
      const task = await context.makeFreeTask({ state: `TASK_STATE_${name}` });
      expect(await context.db.journal.openTurn(followUp(task))).toEqual({ ok: true, epoch: 2 });
    },
  );

  test('can write as the turn it opened', async () => {
    const task = await context.makeFreeTask();
    await context.db.journal.openTurn(followUp(task));
    const turn: MadeTask = { ...task, holder: 'replica-b', epoch: 2, version: 2 };
    expect(await context.db.journal.commit(writeOf(turn))).toEqual({ ok: true, version: 3 });
  });

  test('is one of several that ask at once', async () => {
    const task = await context.makeFreeTask();
    const databases = [context.db, context.second, context.db, context.second, context.db, context.second];
    const outcomes = await Promise.all(
      databases.map((db, index) => db.journal.openTurn(followUp(task, { holder: `replica-${index}` }))),
    );
    expect(outcomes.filter((outcome) => outcome.ok)).toEqual([{ ok: true, epoch: 2 }]);
    const refused = outcomes.filter((outcome) => !outcome.ok);
    expect(refused).toEqual(refused.map(() => ({ ok: false, refusal: 'busy', epoch: 2 })));
    expect((await context.read(task)).events).toHaveLength(2);
  });
}

/** Asks, expects exactly this refusal, and that nothing was written. */
async function expectRefusal(
  context: ContractContext,
  open: OpenTurn,
  refusal: Readonly<Record<string, unknown>>,
): Promise<void> {
  const before = await context.still(open);
  expect(await context.db.journal.openTurn(open)).toEqual({ ok: false, ...refusal });
  expect(await context.still(open)).toEqual(before);
}

function describeWrongTask(context: ContractContext): void {
  test('is not found when there is no such task, and leaves nothing behind', async () => {
    const task: MadeTask = { ...newTask(), epoch: 1, version: 1 };
    await expectRefusal(context, followUp(task), { refusal: 'not_found' });
    expect(await context.db.leases.readLeases([task.taskId])).toEqual([]);
  });

  test('is not found when it is of another owner or tenant', async () => {
    const task = await context.makeFreeTask();
    for (const scope of [
      freshScope(),
      { ...task.scope, tenant: 'other' },
      { ...task.scope, owner: 'other' },
    ]) {
      await expectRefusal(context, followUp(task, { scope }), { refusal: 'not_found' });
    }
  });

  test('is not found also when it repeats a message of that other owner', async () => {
    const task = await context.makeFreeTask({ events: [event('task', { messageId: 'm-1' })] });
    const open = followUp(task, { scope: freshScope(), event: event('message', { messageId: 'm-1' }) });
    await expectRefusal(context, open, { refusal: 'not_found' });
  });

  test('is a mismatch when it names another context', async () => {
    const task = await context.makeFreeTask();
    await expectRefusal(context, followUp(task, { contextId: 'another' }), { refusal: 'context_mismatch' });
  });

  test('is told the state of a task that has ended', async () => {
    const task = await context.makeTask();
    await context.db.journal.commit(completionOf(task));
    await expectRefusal(context, followUp(task), { refusal: 'terminal', state: 'TASK_STATE_COMPLETED' });
    const mismatch = followUp(task, { contextId: 'another' });
    await expectRefusal(context, mismatch, { refusal: 'context_mismatch' });
  });
}

function describeHeld(context: ContractContext): void {
  test('is busy while its turn works, also for the replica that runs it', async () => {
    const task = await context.makeTask();
    await expectRefusal(context, followUp(task), { refusal: 'busy', epoch: 1 });
    await expectRefusal(context, followUp(task, { holder: task.holder }), { refusal: 'busy', epoch: 1 });
  });

  test.each(['INPUT_REQUIRED', 'AUTH_REQUIRED'])('is about to be let go in %s', async (name) => {
    const task = await context.makeTask({ state: `TASK_STATE_${name}` });
    await expectRefusal(context, followUp(task), { refusal: 'parked_busy', epoch: 1 });
  });

  test.each(['INPUT_REQUIRED', 'AUTH_REQUIRED'])(
    'is busy in %s while an accepted follow-up has said nothing',
    async (name) => {
      const task = await context.makePendingTask(`TASK_STATE_${name}`);
      await expectRefusal(context, followUp(task), { refusal: 'busy', epoch: 2 });
    },
  );
}

function describeExpired(context: ContractContext): void {
  test.each(['WORKING', 'SUBMITTED', 'AUTH_REQUIRED'])('is abandoned in %s', async (name) => {
    const task = await context.makeTask({ state: `TASK_STATE_${name}` });
    await context.expire(task);
    await expectRefusal(context, followUp(task), { refusal: 'abandoned', epoch: 1 });
  });

  test('is abandoned when the turn was pending, whatever the state', async () => {
    const task = await context.makePendingTask('TASK_STATE_INPUT_REQUIRED');
    await context.expire(task);
    await expectRefusal(context, followUp(task), { refusal: 'abandoned', epoch: 2 });
  });

  test('takes over a task that waits for input, and forgets the cancel mark', async () => {
    const task = await context.makeTask({ state: 'TASK_STATE_INPUT_REQUIRED' });
    await context.db.leases.markCancel(task);
    await context.expire(task);
    expect(await context.db.journal.openTurn(followUp(task))).toEqual({ ok: true, epoch: 2 });
    const { lease, version } = await context.read(task);
    expect(version).toBe(2);
    expect(lease).toMatchObject({ holder: 'replica-b', epoch: 2, pending: true, cancelAgeMs: null });
    expect(lease?.remainingMs).toBeGreaterThan(0);
    expect(await context.db.journal.commit(writeOf({ ...task, version: 2 }))).toEqual({ ok: false });
  });

  test('is told apart when it could be taken over and nobody asked for that', async () => {
    const task = await context.makeTask({ state: 'TASK_STATE_INPUT_REQUIRED' });
    await context.expire(task);
    await expectRefusal(context, followUp(task, { takeOver: false }), { refusal: 'expired', epoch: 1 });
  });

  test('opens a free task without a take-over', async () => {
    const task = await context.makeFreeTask({ state: 'TASK_STATE_INPUT_REQUIRED' });
    const open = followUp(task, { takeOver: false });
    expect(await context.db.journal.openTurn(open)).toEqual({ ok: true, epoch: 2 });
  });

  test('is taken over by one of several that ask at once', async () => {
    const task = await context.makeTask({ state: 'TASK_STATE_INPUT_REQUIRED' });
    await context.expire(task);
    const databases = [context.db, context.second, context.db, context.second];
    const outcomes = await Promise.all(databases.map((db) => db.journal.openTurn(followUp(task))));
    expect(outcomes.filter((outcome) => outcome.ok)).toEqual([{ ok: true, epoch: 2 }]);
    expect((await context.read(task)).version).toBe(2);
  });
}

function describeDuplicate(context: ContractContext): void {
  const again = (messageId: string) => event('message', { messageId });

  test('is found on the row of the follow-up that carried it', async () => {
    const task = await context.makeFreeTask({ events: [event('task'), event()] });
    const open = followUp(task, { event: again('m-2') });
    expect(await context.db.journal.openTurn(open)).toEqual({ ok: true, epoch: 3 });
    const repeated = followUp(task, { event: again('m-2'), holder: 'replica-c' });
    await expectRefusal(context, repeated, { refusal: 'duplicate', epoch: 3, seq: 3 });
  });

  test('is found on the first row of the task', async () => {
    const task = await context.makeFreeTask({ events: [event('task', { messageId: 'm-1' })] });
    const open = followUp(task, { event: again('m-1') });
    await expectRefusal(context, open, { refusal: 'duplicate', epoch: 1, seq: 1 });
  });

  test('is a duplicate before anything else that is wrong', async () => {
    const task = await context.makeTask({ events: [event('task', { messageId: 'm-1' })] });
    const refusal = { refusal: 'duplicate', epoch: 1, seq: 1 };
    await expectRefusal(context, followUp(task, { event: again('m-1') }), refusal);
    await expectRefusal(context, followUp(task, { event: again('m-1'), contextId: 'another' }), refusal);
    await context.expire(task);
    await expectRefusal(context, followUp(task, { event: again('m-1') }), refusal);
    await context.db.leases.beat({ holder: task.holder, ttlMs: 60_000, leases: [task] });
    await context.db.journal.commit(completionOf(task));
    await expectRefusal(context, followUp(task, { event: again('m-1') }), refusal);
  });

  test('in another task is a new message', async () => {
    const [one, other] = [await context.makeFreeTask(), await context.makeFreeTask()];
    await context.db.journal.openTurn(followUp(one, { event: again('m-3') }));
    const open = followUp(other, { event: again('m-3') });
    expect(await context.db.journal.openTurn(open)).toEqual({ ok: true, epoch: 2 });
  });

  test('at the same moment is stored once', async () => {
    const task = await context.makeFreeTask();
    const databases = [context.db, context.second, context.db, context.second];
    const outcomes = await Promise.all(
      databases.map((db) => db.journal.openTurn(followUp(task, { event: again('m-4') }))),
    );
    expect(outcomes.filter((outcome) => outcome.ok)).toEqual([{ ok: true, epoch: 2 }]);
    expect(outcomes.filter((outcome) => !outcome.ok)).toEqual(
      Array.from({ length: 3 }, () => ({ ok: false, refusal: 'duplicate', epoch: 2, seq: 2 })),
    );
    expect((await context.read(task)).events).toHaveLength(2);
  });

  test('is found by its id', async () => {
    const task = await context.makeFreeTask({ events: [event('task', { messageId: 'm-1' })] });
    await context.db.journal.openTurn(followUp(task, { event: again('m-2') }));
    const { taskId } = task;
    expect(await context.db.log.findMessage({ taskId, messageId: 'm-1' })).toEqual({ seq: 1, epoch: 1 });
    expect(await context.db.log.findMessage({ taskId, messageId: 'm-2' })).toEqual({ seq: 2, epoch: 2 });
    expect(await context.db.log.findMessage({ taskId, messageId: 'm-3' })).toBeNull();
    expect(await context.db.log.findMessage({ taskId: 'none', messageId: 'm-1' })).toBeNull();
  });
}

function describeFull(context: ContractContext): void {
  /** A task with two user messages that nobody runs, and an event of its agent. */
  async function talkedTo(): Promise<MadeTask> {
    const task = await context.makeFreeTask({ state: 'TASK_STATE_INPUT_REQUIRED' });
    const holder = 'replica-b';
    for (const epoch of [2, 3]) {
      const opened = await context.db.journal.openTurn(followUp(task, { holder, takeOver: true }));
      expect(opened).toEqual({ ok: true, epoch });
      await context.db.leases.release({ taskId: task.taskId, holder, epoch });
    }
    return task;
  }

  test('is refused at the limit and admitted below it', async () => {
    const task = await talkedTo();
    const stored = await context.read(task);
    const messages = stored.events.filter((row) => row.messageId !== null).length;
    expect(messages).toBeLessThanOrEqual(stored.events.length);
    const full = followUp(task, { maxMessages: messages });
    await expectRefusal(context, full, { refusal: 'too_many_messages' });
    const roomy = followUp(task, { maxMessages: messages + 1 });
    expect(await context.db.journal.openTurn(roomy)).toMatchObject({ ok: true });
  });

  test('counts messages, not events', async () => {
    const task = await talkedTo();
    const { holder } = task;
    const opened = await context.db.journal.openTurn(followUp(task, { holder }));
    if (!opened.ok) throw new Error('not opened');
    const turn: MadeTask = { ...task, epoch: opened.epoch, version: opened.epoch };
    await context.db.journal.commit(writeOf(turn, { events: [event(), event(), event()] }));
    await context.db.leases.release({ taskId: task.taskId, holder, epoch: opened.epoch });
    const { events } = await context.read(task);
    const open = followUp(task, { maxMessages: events.length - 1 });
    expect(await context.db.journal.openTurn(open)).toMatchObject({ ok: true });
  });

  test('is still known as a message that was sent before', async () => {
    const task = await context.makeFreeTask({ state: 'TASK_STATE_INPUT_REQUIRED' });
    const open = followUp(task, { maxMessages: 3 });
    expect(await context.db.journal.openTurn(open)).toEqual({ ok: true, epoch: 2 });
    await expectRefusal(context, { ...open, maxMessages: 1 }, { refusal: 'duplicate', epoch: 2, seq: 2 });
  });
}
