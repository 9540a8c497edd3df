import { randomUUID } from 'node:crypto';
import { expect } from '@jest/globals';
import { createSystemClock, encodeEvent, type NewEvent, type Telemetry } from '@a2a-cluster/core';
import type { Database } from '@a2a-cluster/db';
import { TaskState } from '@a2a-js/sdk';
import {
  createJournal,
  type CommittedEvents,
  type CommitRequest,
  type CreateRequest,
  type Journal,
  type LeaseAuthority,
} from '../../src/index.js';
import { createFaultyDatabase, type FaultyDatabase } from '../faulty-database.js';
import { emptyTask, status, update } from '../support.js';

const TTL_MS = 5_000;
/** Who writes. */
export const HOLDER = 'replica-a';
/** Whose tasks they are. */
export const scope = { tenant: '', owner: 'alice' };
/** The process's own. */
export const clock = createSystemClock();
const never = new AbortController().signal;

/** A journal over a database that misbehaves as told, and what its listener heard. */
export class Scene {
  readonly taskId = `task-${randomUUID()}`;
  readonly heard: CommittedEvents[] = [];
  readonly faulty: FaultyDatabase;
  readonly journal: Journal;

  constructor(
    readonly database: Database,
    options: {
      readonly ttlMs?: number;
      readonly onCommitted?: () => void;
      readonly telemetry?: Telemetry;
    } = {},
  ) {
    this.faulty = createFaultyDatabase(database);
    this.journal = createJournal({
      database: this.faulty.database,
      clock,
      holder: HOLDER,
      ttlMs: options.ttlMs ?? TTL_MS,
      ...(options.telemetry === undefined ? {} : { telemetry: options.telemetry }),
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
