import { randomUUID } from 'node:crypto';
import { createSystemClock, sleep, type EventKind, type NewEvent, type Scope } from '@a2a-cluster/core';
import type { Database } from '../database.js';
import type {
  CommitEvents,
  CreateTask,
  Look,
  OpenTurn,
  SweepBatch,
} from '../statements/journal-statements.js';
import type { StoredTask } from '../statements/log-statements.js';
import type { ContractFixture } from './fixture.js';

/** A lease time no test outlives. */
export const LONG_TTL_MS = 600_000;
/** A lease time that is waited for. */
export const SHORT_TTL_MS = 150;
/** The holder of the tasks the suite makes, unless a test says otherwise. */
export const HOLDER = 'replica-a';

const clock = createSystemClock();

/** A task the suite made: what its holder knows of it. */
export interface MadeTask {
  readonly taskId: string;
  readonly scope: Scope;
  readonly contextId: string;
  readonly holder: string;
  readonly epoch: number;
  readonly version: number;
}

/** An event with a write id of its own. */
export function event(kind: EventKind = 'statusUpdate', more: Partial<NewEvent> = {}): NewEvent {
  const writeId = randomUUID();
  return { kind, writeId, payload: JSON.stringify({ writeId }), ...more };
}

/** A scope nobody else uses. */
export function freshScope(): Scope {
  return { tenant: `tenant-${randomUUID()}`, owner: `owner-${randomUUID()}` };
}

/** Asks until `accept` takes the answer; fails after `withinMs`. */
export async function until<T>(
  ask: () => Promise<T>,
  accept: (answer: T) => boolean,
  withinMs = 10_000,
): Promise<T> {
  const deadline = clock.monotonicMs() + withinMs;
  for (;;) {
    const answer = await ask();
    if (accept(answer)) return answer;
    if (clock.monotonicMs() > deadline)
      throw new Error(`not within ${withinMs} ms: ${JSON.stringify(answer)}`);
    await sleep({ clock, delayMs: 5 });
  }
}

/** The suite's hands: the fixture of the running suite and the steps most tests share. */
export class ContractContext {
  private fixture: ContractFixture | undefined;
  private other: Database | undefined;

  async start(fixture: ContractFixture): Promise<void> {
    this.fixture = fixture;
    this.other = fixture.second ? await fixture.second() : fixture.db;
  }

  async stop(): Promise<void> {
    await this.fixture?.close();
  }

  get db(): Database {
    return this.opened.db;
  }

  /** Another replica's database over the same rows. */
  get second(): Database {
    return this.other ?? this.db;
  }

  get tamper(): ContractFixture['tamper'] {
    return this.opened.tamper;
  }

  private get opened(): ContractFixture {
    if (!this.fixture) throw new Error('the suite has not been opened');
    return this.fixture;
  }

  /** A new task in WORKING with a long lease at epoch 1, version 1, unless told otherwise. */
  async makeTask(more: Partial<CreateTask> = {}): Promise<MadeTask> {
    const create = newTask(more);
    const created = await this.db.journal.createTask(create);
    if (!created.ok) throw new Error(`task ${create.taskId} exists`);
    const { taskId, scope, contextId, holder } = create;
    return { taskId, scope, contextId, holder, epoch: 1, version: created.version };
  }

  /** A task that nobody runs. */
  async makeFreeTask(more: Partial<CreateTask> = {}): Promise<MadeTask> {
    const task = await this.makeTask(more);
    await this.db.leases.release({ taskId: task.taskId, holder: task.holder, epoch: 1 });
    return task;
  }

  /** A task in a state, whose turn was opened by a follow-up that has said nothing yet. */
  async makePendingTask(state: string): Promise<MadeTask> {
    const task = await this.makeFreeTask({ state });
    const opened = await this.db.journal.openTurn(followUp(task, { holder: task.holder }));
    if (!opened.ok) throw new Error(`not opened: ${opened.refusal}`);
    return { ...task, epoch: opened.epoch, version: opened.epoch };
  }

  /** Lets the lease of a task expire at once. */
  async expire(task: Pick<MadeTask, 'taskId'>): Promise<void> {
    await this.db.leases.expireNow(task.taskId);
    await this.opened.elapse?.(1);
    await this.untilExpired(task);
  }

  /** Lets a time to live pass by the database's clock. */
  async outlive(task: Pick<MadeTask, 'taskId'>, ttlMs: number): Promise<void> {
    await this.opened.elapse?.(ttlMs + 1);
    await this.untilExpired(task);
  }

  private async untilExpired({ taskId }: Pick<MadeTask, 'taskId'>): Promise<void> {
    await until(
      () => this.db.journal.look({ taskId }),
      (look) => look?.lease !== null && (look?.lease.remainingMs ?? 0) < 0,
    );
  }

  /** Asks until `accept` takes the answer, while the database's clock advances. */
  async whileTimePasses<T>(ask: () => Promise<T>, accept: (answer: T) => boolean): Promise<T> {
    return until(async () => {
      await this.opened.elapse?.(5);
      return ask();
    }, accept);
  }

  /** Lets the database's clock advance by a few milliseconds, so that what follows is later. */
  async tick(): Promise<void> {
    const { nowMs } = await this.db.leases.readClock();
    await this.whileTimePasses(
      () => this.db.leases.readClock(),
      (clock) => clock.nowMs > nowMs + 2,
    );
  }

  /** The task as stored; it must be there. */
  async read(task: Pick<MadeTask, 'taskId'>): Promise<StoredTask> {
    const stored = await this.db.log.readTask({ taskId: task.taskId });
    if (!stored) throw new Error(`no task ${task.taskId}`);
    return stored;
  }

  /** What there is to see of a task without its ages, for comparing before and after. */
  async still(task: Pick<MadeTask, 'taskId'>): Promise<unknown> {
    const { db } = this;
    const look = await db.journal.look({ taskId: task.taskId });
    const events = await db.log.readEvents({ taskId: task.taskId, after: 0, limit: 1_000 });
    return { look: look && withoutAges(look), events };
  }

  /** Ends every lease, so that a test of "all leases" starts with none. */
  async dropAllLeases(): Promise<void> {
    const { leases, journal } = this.db;
    const batch = {
      limit: 1,
      sweeper: 'contract',
      statusTimestamp: '2026-01-01T00:00:00.000Z',
      text: 'dropped',
    };
    for (const { taskId, holder, epoch } of await leases.listLeases(10_000)) {
      if ((await leases.release({ taskId, holder, epoch })) !== 'cancel_requested') continue;
      await leases.expireNow(taskId);
      await journal.sweep({ ...batch, taskId });
    }
  }
}

function withoutAges(look: Look): unknown {
  const { lease, ...rest } = look;
  return { ...rest, lease: lease && { holder: lease.holder, epoch: lease.epoch, pending: lease.pending } };
}

/** The first write of a task nobody has. */
export function newTask(more: Partial<CreateTask> = {}): CreateTask {
  const id = randomUUID();
  return {
    taskId: `task-${id}`,
    scope: { tenant: '', owner: `owner-${id}` },
    contextId: `context-${id}`,
    holder: HOLDER,
    ttlMs: LONG_TTL_MS,
    state: 'TASK_STATE_WORKING',
    statusTimestamp: '2026-01-01T00:00:00.000Z',
    terminal: false,
    clearsPending: false,
    snapshot: null,
    events: [event('task')],
    ...more,
  };
}

/** A write of the turn that made the task; moves nothing but the version unless told otherwise. */
export function writeOf(task: MadeTask, more: Partial<CommitEvents> = {}): CommitEvents {
  return {
    taskId: task.taskId,
    expectedVersion: task.version,
    holder: task.holder,
    epoch: task.epoch,
    events: [event()],
    state: null,
    statusTimestamp: null,
    terminal: false,
    clearsPending: false,
    snapshot: null,
    ...more,
  };
}

/** The write that completes a task. */
export function completionOf(task: MadeTask): CommitEvents {
  const statusTimestamp = '2026-01-02T00:00:00.000Z';
  return writeOf(task, {
    state: 'TASK_STATE_COMPLETED',
    statusTimestamp,
    terminal: true,
    clearsPending: true,
  });
}

/** A follow-up with a message nobody has sent. */
export function followUp(task: MadeTask, more: Partial<OpenTurn> = {}): OpenTurn {
  return {
    taskId: task.taskId,
    scope: task.scope,
    contextId: null,
    holder: 'replica-b',
    ttlMs: LONG_TTL_MS,
    event: event('message', { messageId: `message-${randomUUID()}` }),
    takeOver: true,
    ...more,
  };
}

/** A sweep of one task, or of all. */
export function sweepOf(more: Partial<SweepBatch> = {}): SweepBatch {
  return {
    limit: 100,
    sweeper: 'replica-sweeper',
    statusTimestamp: '2026-01-03T00:00:00.000Z',
    text: 'The replica was lost.',
    ...more,
  };
}
