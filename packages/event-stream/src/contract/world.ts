import { randomUUID } from 'node:crypto';
import { TaskState, type TaskStatusUpdateEvent } from '@a2a-js/sdk';
import {
  createSystemClock,
  encodeEvent,
  sleep,
  stateName,
  type Clock,
  type EventRow,
  type NewEvent,
  type Scope,
  type TaskEvent,
} from '@a2a-cluster/core';
import type { Database, LogHead } from '@a2a-cluster/db';
import type { EventStream, Tail, TailItem } from '../event-stream.js';

const clock = createSystemClock();

/** The scope of every task the suite makes. */
export const SCOPE: Scope = { tenant: '', owner: 'event-stream-contract' };

/** A status update with a text of its own, so that rows can be told apart and weighed. */
export function statusEvent(task: { taskId: string; contextId: string }, text = ''): TaskEvent {
  const data: TaskStatusUpdateEvent = {
    taskId: task.taskId,
    contextId: task.contextId,
    status: { state: TaskState.TASK_STATE_WORKING, message: undefined, timestamp: undefined },
    metadata: { text },
  };
  return { kind: 'statusUpdate', data };
}

/** A turn of the suite's: writes by the journal, and tells the stream of the replica it runs on. */
export class Writer {
  readonly taskId = `task-${randomUUID()}`;
  readonly contextId = `context-${randomUUID()}`;
  version = 0;
  #epoch = 1;
  #state = 'TASK_STATE_WORKING';
  readonly #database: Database;
  readonly #holder: string;

  constructor(options: { readonly database: Database; readonly holder?: string }) {
    this.#database = options.database;
    this.#holder = options.holder ?? 'replica-a';
  }

  /** The head as this turn knows it. */
  get head(): LogHead {
    const lease = { holder: this.#holder, epoch: this.#epoch, cancelAgeMs: null };
    return { taskId: this.taskId, version: this.version, state: this.#state, lease };
  }

  /** Stores the first event; tells nobody. */
  async create(): Promise<EventRow[]> {
    const data = {
      id: this.taskId,
      contextId: this.contextId,
      status: { state: TaskState.TASK_STATE_WORKING, message: undefined, timestamp: undefined },
      artifacts: [],
      history: [],
      metadata: undefined,
    };
    const events = [newEvent({ kind: 'task', data })];
    const created = await this.#database.journal.createTask({
      taskId: this.taskId,
      scope: SCOPE,
      contextId: this.contextId,
      holder: this.#holder,
      ttlMs: 600_000,
      state: stateName(TaskState.TASK_STATE_WORKING),
      statusTimestamp: null,
      terminal: false,
      clearsPending: false,
      snapshot: null,
      events,
    });
    if (!created.ok) throw new Error('the task exists already');
    return this.#stored(events);
  }

  /** Stores so many events in one transaction; tells nobody. */
  async write(count = 1, text = ''): Promise<EventRow[]> {
    const events = Array.from({ length: count }, () => newEvent(statusEvent(this, text)));
    return this.#commit(events, false);
  }

  /** Stores the event that ends the task; tells nobody. */
  async complete(): Promise<EventRow[]> {
    const event = statusEvent(this);
    if (event.kind === 'statusUpdate' && event.data.status) {
      event.data.status.state = TaskState.TASK_STATE_COMPLETED;
    }
    this.#state = 'TASK_STATE_COMPLETED';
    return this.#commit([newEvent(event)], true);
  }

  /** Stores a payload as it is, readable or not; tells nobody. */
  async writeRaw(payload: string): Promise<EventRow[]> {
    return this.#commit([{ kind: 'statusUpdate', payload, writeId: randomUUID() }], false);
  }

  /** Drops the lease without an event; tells nobody. */
  async release(): Promise<{ taskId: string; epoch: number; version: number }> {
    const { taskId } = this;
    await this.#database.leases.release({ taskId, holder: this.#holder, epoch: this.#epoch });
    return { taskId, epoch: this.#epoch, version: this.version };
  }

  /** Opens the next turn with a user message, on whichever database; tells nobody. */
  async followUp(): Promise<EventRow[]> {
    const messageId = randomUUID();
    const payload = JSON.stringify({ messageId, role: 'ROLE_USER', parts: [{ text: 'go on' }] });
    const event: NewEvent = { kind: 'message', payload, writeId: randomUUID(), messageId };
    const opened = await this.#database.journal.openTurn({
      taskId: this.taskId,
      scope: SCOPE,
      contextId: null,
      holder: this.#holder,
      ttlMs: 600_000,
      event,
      takeOver: true,
    });
    if (!opened.ok) throw new Error(`the turn was refused: ${opened.refusal}`);
    this.#epoch = opened.epoch;
    return this.#stored([event]);
  }

  /** Writes one event after another and tells the stream of each. */
  async stream(stream: EventStream, count: number): Promise<void> {
    for (let written = 0; written < count; written += 1) {
      const rows = await this.write();
      stream.committed({ taskId: this.taskId, rows, head: this.head });
    }
  }

  async #commit(events: NewEvent[], terminal: boolean): Promise<EventRow[]> {
    const written = await this.#database.journal.commit({
      taskId: this.taskId,
      expectedVersion: this.version,
      holder: this.#holder,
      epoch: this.#epoch,
      events,
      state: this.#state,
      statusTimestamp: null,
      terminal,
      clearsPending: true,
      snapshot: null,
    });
    if (!written.ok) throw new Error('the write was refused');
    return this.#stored(events);
  }

  #stored(events: readonly NewEvent[]): EventRow[] {
    return events.map(({ kind, payload, messageId = null }) => {
      this.version += 1;
      const { taskId, version: seq } = this;
      return { taskId, seq, kind, payload, messageId, holder: this.#holder, epoch: this.#epoch };
    });
  }
}

function newEvent(event: TaskEvent): NewEvent {
  return { kind: event.kind, payload: encodeEvent(event), writeId: randomUUID() };
}

/** Pulls items until `until` takes one (which is included) or the tail ends. */
export async function collect(tail: Tail, until: (item: TailItem) => boolean): Promise<TailItem[]> {
  const items: TailItem[] = [];
  for (let item = await tail.next(); item !== null; item = await tail.next()) {
    items.push(item);
    if (until(item)) break;
  }
  return items;
}

/** Pulls items until the event of that seq. */
export function collectTo(tail: Tail, seq: number): Promise<TailItem[]> {
  return collect(tail, (item) => item.type === 'event' && item.row.seq === seq);
}

/** The seqs of the events among the items. */
export function seqsOf(items: readonly TailItem[]): number[] {
  return items.flatMap((item) => (item.type === 'event' ? [item.row.seq] : []));
}

/** The numbers from..to. */
export function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(to - from + 1, 0) }, (_, index) => from + index);
}

/** Waits until `met`, looking again every few milliseconds; fails after 10 s. */
export async function until(met: () => boolean): Promise<void> {
  const startMs = clock.monotonicMs();
  while (!met()) {
    if (clock.monotonicMs() - startMs > 10_000) throw new Error(`still waiting for ${met.toString()}`);
    await pause(2);
  }
}

/** Lets time pass. */
export function pause(delayMs: number): Promise<void> {
  return sleep({ clock, delayMs });
}

/** The process's clock, for the streams of the suite. */
export function suiteClock(): Clock {
  return clock;
}
