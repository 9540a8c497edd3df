import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createSystemClock, encodeEvent, type NewEvent } from '@a2a-cluster/core';
import type { Database } from '@a2a-cluster/db';
import { TaskState } from '@a2a-js/sdk';
import {
  createJournal,
  type CommittedEvents,
  type CommitRequest,
  type CreateRequest,
  type Journal,
  type LeaseAuthority,
} from '../src/index.js';
import { createFaultyDatabase, type FaultyDatabase } from './faulty-database.js';
import { emptyTask, openDatabase, status, update, type OpenDatabase } from './support.js';

const TTL_MS = 5_000;
const HOLDER = 'replica-a';
const scope = { tenant: '', owner: 'alice' };
const clock = createSystemClock();
const never = new AbortController().signal;

/** A journal over a database that misbehaves as told, and what its listener heard. */
export class Scene {
  readonly taskId = `task-${randomUUID()}`;
  readonly heard: CommittedEvents[] = [];
  readonly faulty: FaultyDatabase;
  readonly journal: Journal;

  constructor(
    readonly database: Database,
    options: { readonly ttlMs?: number; readonly onCommitted?: () => void } = {},
  ) {
    this.faulty = createFaultyDatabase(database);
    this.journal = createJournal({
      database: this.faulty.database,
      clock,
      holder: HOLDER,
      ttlMs: options.ttlMs ?? TTL_MS,
      onCommitted: (committed) => {
        this.heard.push(committed);
        options.onCommitted?.();
      },
    });
  }

  create(more: Partial<CreateRequest> = {}): ReturnType<Journal['create']> {
    const { taskId } = this;
    return this.journal.create({
      ...{ taskId, scope, contextId: 'c', holder: HOLDER, ttlMs: TTL_MS, lost: never },
      ...{ state: 'TASK_STATE_SUBMITTED', statusTimestamp: null, terminal: false, clearsPending: false },
      snapshot: null,
      events: [event({ kind: 'task', data: emptyTask(taskId) }, 'first message')],
      ...more,
    });
  }

  commit(state: TaskState, more: Partial<CommitRequest> = {}): ReturnType<Journal['commit']> {
    const terminal = state === TaskState.TASK_STATE_COMPLETED;
    return this.journal.commit({
      ...{ authority: this.authority(), scope, expectedVersion: 1, currentState: 'TASK_STATE_SUBMITTED' },
      ...{ state: TaskState[state], statusTimestamp: null, terminal, clearsPending: true, snapshot: null },
      events: [event(update(this.taskId, status(state)))],
      ...more,
    });
  }

  authority(more: Partial<LeaseAuthority> = {}): LeaseAuthority {
    const { taskId, database } = this;
    const epoch = more.epoch ?? 1;
    const renewNow = async (): Promise<'renewed' | 'lost'> => {
      const lease = { taskId, epoch };
      const beat = { holder: HOLDER, ttlMs: TTL_MS, lease, waitMs: 200 };
      return (await database.leases.beatOne(beat)) ? 'renewed' : 'lost';
    };
    return { taskId, epoch, holder: HOLDER, lost: never, renewNow, ...more };
  }

  open(messageId: string, more: { readonly takeOver?: boolean } = {}): ReturnType<Journal['openTurn']> {
    const { taskId } = this;
    return this.journal.openTurn({
      ...{ taskId, scope, contextId: null, holder: HOLDER, ttlMs: TTL_MS, takeOver: true, ...more },
      event: message(messageId),
    });
  }

  cancel(expectedVersion: number): ReturnType<Journal['cancel']> {
    const { taskId } = this;
    return this.journal.cancel({
      ...{
        taskId,
        scope,
        expectedVersion,
        statusTimestamp: '2026-01-01T00:00:00Z',
        holder: HOLDER,
        epoch: 1,
      },
      event: event(update(taskId, status(TaskState.TASK_STATE_CANCELED))),
    });
  }

  /** Parks the task and drops its lease, as a turn that asked does. */
  async park(): Promise<void> {
    await this.create();
    await this.commit(TaskState.TASK_STATE_INPUT_REQUIRED);
    await this.database.leases.release({ taskId: this.taskId, epoch: 1, holder: HOLDER });
    this.heard.length = 0;
  }

  /** Kind, epoch and writer of every row. */
  async log(): Promise<string[]> {
    const rows = await this.database.log.readEvents({ taskId: this.taskId, after: 0, limit: 100 });
    expect(rows.map((row) => row.seq)).toEqual(rows.map((_, index) => index + 1));
    return rows.map((row) => `${row.kind}/${row.epoch}`);
  }

  /** What was told, row by row. */
  told(): string[] {
    return this.heard.flatMap(({ rows }) => rows.map((row) => `${row.seq}:${row.kind}/${row.epoch}`));
  }

  look(): ReturnType<Database['journal']['look']> {
    return this.database.journal.look({ taskId: this.taskId });
  }
}

function event(of: Parameters<typeof encodeEvent>[0], messageId?: string): NewEvent {
  return { kind: of.kind, payload: encodeEvent(of), writeId: randomUUID(), messageId };
}

function message(messageId: string): NewEvent {
  return { kind: 'message', payload: JSON.stringify({ messageId }), writeId: randomUUID(), messageId };
}

/** What the journal promises over any database (protocol 3). */
export function describeJournalContract(provider: Parameters<typeof openDatabase>[0]): void {
  describe(`a journal on ${provider}`, () => {
    let opened: OpenDatabase;
    let scene: Scene;

    beforeAll(async () => {
      opened = await openDatabase(provider);
    });
    afterAll(() => opened.close());
    beforeEach(() => {
      scene = new Scene(opened.database);
    });

    describeWrites(() => scene);
    describeAmbiguity(() => scene);
    describeOpenings(() => scene);
    describeBounds(() => opened.database);
  });
}

function describeWrites(scene: () => Scene): void {
  describe('writes', () => {
    test('store a new task with its lease and tell of it once, with the head', async () => {
      const { create, taskId } = bound(scene());
      expect(await create()).toMatchObject({ ok: true, version: 1, sentAtMs: expect.any(Number) });
      expect(await scene().log()).toEqual(['task/1']);
      expect(scene().heard).toMatchObject([
        {
          taskId,
          scope,
          rows: [{ seq: 1, kind: 'task', holder: HOLDER, epoch: 1, messageId: 'first message' }],
          head: { taskId, version: 1, state: 'TASK_STATE_SUBMITTED', lease: { holder: HOLDER, epoch: 1 } },
        },
      ]);
    });

    test('do not touch a task of the same id, and tell nothing', async () => {
      await scene().create();
      scene().heard.length = 0;
      expect(await scene().create()).toEqual({ ok: false, refusal: 'conflict' });
      expect(scene().told()).toEqual([]);
    });

    test('move the task on, and drop the lease with a terminal event', async () => {
      await scene().create();
      expect(await scene().commit(TaskState.TASK_STATE_WORKING)).toMatchObject({ ok: true, version: 2 });
      const ended = await scene().commit(TaskState.TASK_STATE_COMPLETED, { expectedVersion: 2 });
      expect(ended).toMatchObject({ ok: true, version: 3 });
      expect(await scene().look()).toMatchObject({ state: 'TASK_STATE_COMPLETED', version: 3, lease: null });
      expect(scene().heard.map(({ head }) => head.lease?.epoch ?? null)).toEqual([1, 1, null]);
      expect(scene().told()).toEqual(['1:task/1', '2:statusUpdate/1', '3:statusUpdate/1']);
    });

    test.each([
      ['terminal', TaskState.TASK_STATE_COMPLETED, {}],
      ['lease_lost', TaskState.TASK_STATE_WORKING, { epoch: 7 }],
      ['lease_lost', TaskState.TASK_STATE_WORKING, { holder: 'replica-b' }],
      ['gone', TaskState.TASK_STATE_WORKING, { taskId: 'no-such-task' }],
    ])('are refused with %s, stored nowhere and told to nobody', async (refusal, before, authority) => {
      await scene().create();
      await scene().commit(before);
      scene().heard.length = 0;
      const rows = await scene().log();
      const refused = await scene().commit(TaskState.TASK_STATE_WORKING, {
        authority: scene().authority(authority),
        expectedVersion: 2,
      });
      expect(refused).toEqual({ ok: false, refusal });
      expect(await scene().log()).toEqual(rows);
      expect(scene().told()).toEqual([]);
    });

    test('are refused with conflict when somebody else has written', async () => {
      await scene().create();
      await scene().commit(TaskState.TASK_STATE_WORKING);
      expect(await scene().commit(TaskState.TASK_STATE_WORKING)).toEqual({ ok: false, refusal: 'conflict' });
    });

    test('of a holder whose unswept lease has expired renew it and go on', async () => {
      await scene().create();
      await scene().database.leases.expireNow(scene().taskId);
      expect(await scene().commit(TaskState.TASK_STATE_WORKING)).toMatchObject({ ok: true, version: 2 });
      expect((await scene().look())?.lease?.remainingMs).toBeGreaterThan(0);
      expect(scene().told()).toEqual(['1:task/1', '2:statusUpdate/1']);
    });

    test('are lost when the renewal says so', async () => {
      await scene().create();
      await scene().database.leases.expireNow(scene().taskId);
      const authority = scene().authority({ renewNow: async () => 'lost' });
      const refused = await scene().commit(TaskState.TASK_STATE_WORKING, { authority });
      expect(refused).toEqual({ ok: false, refusal: 'lease_lost' });
    });

    test("adopt the user's messages of their own turn, without telling of them again or writing a snapshot", async () => {
      await scene().park();
      await scene().open('m2');
      scene().heard.length = 0;
      const done = await scene().commit(TaskState.TASK_STATE_WORKING, {
        authority: scene().authority({ epoch: 3 }),
        expectedVersion: 2,
        snapshot: JSON.stringify(emptyTask(scene().taskId)),
      });
      expect(done).toMatchObject({ ok: true, version: 4, adopted: [{ seq: 3, kind: 'message', epoch: 3 }] });
      expect(scene().told()).toEqual(['4:statusUpdate/3']);
      const stored = await scene().database.log.readTask({ taskId: scene().taskId });
      expect(stored?.snapshot).toBeNull();
    });

    test('cancel at the version that was seen, and at no other', async () => {
      await scene().create();
      expect(await scene().cancel(2)).toEqual({ ok: false });
      expect(await scene().cancel(1)).toEqual({ ok: true, version: 2 });
      expect(await scene().look()).toMatchObject({ state: 'TASK_STATE_CANCELED', lease: null });
      expect(scene().told()).toEqual(['1:task/1', '2:statusUpdate/1']);
    });

    test('of a sweep end a dead turn once, tell of it, and only drop the lease of a parked one', async () => {
      const batch = { limit: 10, sweeper: 'sweeper', statusTimestamp: '2026-01-01T00:00:00Z', text: 'lost' };
      await scene().create();
      await scene().database.leases.expireNow(scene().taskId);
      const parked = new Scene(scene().database);
      await parked.create();
      await parked.commit(TaskState.TASK_STATE_INPUT_REQUIRED);
      await parked.database.leases.expireNow(parked.taskId);
      scene().heard.length = 0;
      await Promise.all([
        scene().journal.sweep({ ...batch, taskId: scene().taskId }),
        scene().journal.sweep({ ...batch, taskId: scene().taskId }),
        scene().journal.sweep({ ...batch, taskId: parked.taskId }),
      ]);
      expect(scene().told()).toEqual(['2:statusUpdate/1']);
      expect(scene().heard[0]?.rows[0]?.holder).toBe('sweeper');
      expect(scene().heard[0]?.head).toMatchObject({ state: 'TASK_STATE_FAILED', lease: null });
      expect(await parked.look()).toMatchObject({
        state: 'TASK_STATE_INPUT_REQUIRED',
        version: 2,
        lease: null,
      });
    });
  });
}

function describeAmbiguity(scene: () => Scene): void {
  describe('an attempt that was not answered', () => {
    const faults = [['answer_lost'], ['request_lost'], ['overtaken'], ['refused']] as const;

    test.each(faults)('of a creation is resolved (%s): one row, told once', async (fault) => {
      scene().faulty.next('createTask', fault, fault);
      expect(await scene().create()).toMatchObject({ ok: true, version: 1 });
      expect(await scene().log()).toEqual(['task/1']);
      expect(scene().told()).toEqual(['1:task/1']);
    });

    test.each(faults)('of a commit is resolved (%s): one row, told once', async (fault) => {
      await scene().create();
      scene().faulty.next('commit', fault, fault);
      scene().faulty.next('findOwnWrite', 'refused', 'request_lost');
      expect(await scene().commit(TaskState.TASK_STATE_WORKING)).toMatchObject({ ok: true, version: 2 });
      expect(await scene().log()).toEqual(['task/1', 'statusUpdate/1']);
      expect(scene().told()).toEqual(['1:task/1', '2:statusUpdate/1']);
    });

    test('of the commit that ended the task is not told as terminal', async () => {
      await scene().create();
      scene().faulty.next('commit', 'answer_lost');
      expect(await scene().commit(TaskState.TASK_STATE_COMPLETED)).toMatchObject({ ok: true, version: 2 });
    });

    test.each([TaskState.TASK_STATE_WORKING, TaskState.TASK_STATE_COMPLETED])(
      'that lands while its retry is on the way is found by the search after the refusal (state %s)',
      async (state) => {
        await scene().create();
        scene().faulty.next('commit', 'overtaken');
        expect(await scene().commit(state)).toMatchObject({ ok: true, version: 2 });
        expect(await scene().log()).toEqual(['task/1', 'statusUpdate/1']);
        expect(scene().told()).toEqual(['1:task/1', '2:statusUpdate/1']);
      },
    );

    test.each(faults)('of an opening is resolved (%s): one message, told once', async (fault) => {
      await scene().park();
      scene().faulty.next('openTurn', fault);
      expect(await scene().open('m2')).toMatchObject({ ok: true, epoch: 3 });
      expect(await scene().log()).toEqual(['task/1', 'statusUpdate/1', 'message/3']);
      expect(scene().told()).toEqual(['3:message/3']);
    });

    test('of an opening is looked for again when the look itself goes wrong', async () => {
      await scene().park();
      scene().faulty.next('openTurn', 'answer_lost');
      scene().faulty.next('findMessage', 'refused', 'request_lost');
      expect(await scene().open('m2')).toMatchObject({ ok: true, epoch: 3 });
      expect(scene().told()).toEqual(['3:message/3']);
    });

    test.each(faults)('of a cancel is resolved (%s): one event, told once', async (fault) => {
      await scene().create();
      scene().faulty.next('cancel', fault);
      expect(await scene().cancel(1)).toEqual({ ok: true, version: 2 });
      expect(await scene().log()).toEqual(['task/1', 'statusUpdate/1']);
      expect(scene().told()).toEqual(['1:task/1', '2:statusUpdate/1']);
    });

    test.each(['createTask', 'openTurn'])(
      'of %s leaves the lease trusted from when the first attempt was sent',
      async (statement) => {
        if (statement === 'openTurn') await scene().park();
        const sent: number[] = [];
        scene().faulty.always((name) => {
          if (name === statement) sent.push(clock.monotonicMs());
          return name === statement && sent.length === 1 ? 'answer_lost' : undefined;
        });
        const done = await (statement === 'openTurn' ? scene().open('m2') : scene().create());
        expect(sent).toHaveLength(2);
        expect(done.ok && done.sentAtMs <= sent[0]!).toBe(true);
      },
    );

    test("of a write without a lease is the caller's after a few attempts", async () => {
      await scene().park();
      scene().faulty.always((statement) => (statement === 'openTurn' ? 'refused' : undefined));
      await expect(scene().open('m2')).rejects.toMatchObject({ code: 'STORE_FAULT' });
    });
  });
}

function describeOpenings(scene: () => Scene): void {
  describe('an opening', () => {
    test('is a duplicate when its message is in the log, whoever wrote it', async () => {
      await scene().park();
      await scene().open('m2');
      expect(await scene().open('m2')).toMatchObject({ ok: false, refusal: 'duplicate', epoch: 3, seq: 3 });
      expect(await scene().open('first message')).toMatchObject({
        ok: false,
        refusal: 'duplicate',
        epoch: 1,
      });
    });

    test('of a task whose turn was abandoned ends that turn first, and is answered as for an ended task', async () => {
      await scene().create();
      await scene().database.leases.expireNow(scene().taskId);
      expect(await scene().open('m2')).toMatchObject({ refusal: 'terminal', state: 'TASK_STATE_FAILED' });
      expect(scene().told()).toEqual(['1:task/1', '2:statusUpdate/1']);
    });

    test('ends nothing and takes nothing over unless it is asked to', async () => {
      await scene().create();
      await scene().database.leases.expireNow(scene().taskId);
      const open = (): ReturnType<Journal['openTurn']> => scene().open('m2', { takeOver: false });
      expect(await open()).toMatchObject({ refusal: 'abandoned', epoch: 1 });
      expect(await scene().log()).toEqual(['task/1']);
      expect((await scene().look())?.lease).toMatchObject({ epoch: 1 });
    });

    test('tells of an expired lease that could be taken over', async () => {
      await scene().create();
      await scene().commit(TaskState.TASK_STATE_INPUT_REQUIRED);
      await scene().database.leases.expireNow(scene().taskId);
      expect(await scene().open('m2', { takeOver: false })).toMatchObject({ refusal: 'expired', epoch: 1 });
      expect(await scene().log()).toEqual(['task/1', 'statusUpdate/1']);
    });

    test('takes over the expired lease of a parked task', async () => {
      await scene().create();
      await scene().commit(TaskState.TASK_STATE_INPUT_REQUIRED);
      await scene().database.leases.expireNow(scene().taskId);
      expect(await scene().open('m2')).toMatchObject({ ok: true, epoch: 3 });
      expect((await scene().look())?.lease).toMatchObject({ epoch: 3, pending: true });
    });
  });
}

function describeBounds(database: () => Database): void {
  describe('a database that is away', () => {
    test('is not waited for beyond the lost signal, and what lands late is told once', async () => {
      const scene = new Scene(database());
      await scene.create();
      scene.heard.length = 0;
      const lost = new AbortController();
      scene.faulty.next('commit', 'frozen');
      const authority = scene.authority({ lost: lost.signal });
      const writing = scene.commit(TaskState.TASK_STATE_WORKING, { authority });
      while (scene.faulty.calls('commit') === 0) await new Promise((resolve) => setImmediate(resolve));
      lost.abort();
      expect(await writing).toEqual({ ok: false, refusal: 'lease_lost' });
      expect(scene.told()).toEqual([]);
      scene.faulty.thaw();
      while (scene.heard.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      expect(scene.told()).toEqual(['2:statusUpdate/1']);
      expect(await scene.log()).toEqual(['task/1', 'statusUpdate/1']);
    });

    test('is not asked at all once the lease is lost', async () => {
      const scene = new Scene(database());
      await scene.create();
      const authority = scene.authority({ lost: AbortSignal.abort() });
      expect(await scene.commit(TaskState.TASK_STATE_WORKING, { authority })).toEqual({
        ok: false,
        refusal: 'lease_lost',
      });
      expect(scene.faulty.calls('commit')).toBe(0);
    });

    test.each(['commit', 'createTask'])('for a whole TTL ends a %s with its fault', async (statement) => {
      const scene = new Scene(database(), { ttlMs: 200 });
      if (statement === 'commit') await scene.create();
      scene.faulty.always((name) => (name === statement ? 'refused' : undefined));
      const writing = statement === 'commit' ? scene.commit(TaskState.TASK_STATE_WORKING) : scene.create();
      await expect(writing).rejects.toMatchObject({ code: 'STORE_FAULT' });
      expect(scene.faulty.calls(statement)).toBeGreaterThan(2);
    });

    test('for less than that is got over', async () => {
      const scene = new Scene(database());
      await scene.create();
      scene.faulty.next('commit', 'refused', 'refused', 'refused');
      expect(await scene.commit(TaskState.TASK_STATE_WORKING)).toMatchObject({ ok: true });
    });

    test('does not make a listener that throws spoil a stored write', async () => {
      const fail = (): void => {
        throw new Error('no ears');
      };
      const scene = new Scene(database(), { onCommitted: fail });
      expect(await scene.create()).toMatchObject({ ok: true });
      expect(await scene.log()).toEqual(['task/1']);
    });
  });
}

function bound(scene: Scene): {
  readonly create: () => ReturnType<Journal['create']>;
  readonly taskId: string;
} {
  return { create: () => scene.create(), taskId: scene.taskId };
}
