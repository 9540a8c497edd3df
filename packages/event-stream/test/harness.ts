import { TaskState } from '@a2a-js/sdk';
import { encodeEvent, type Clock, type EventRow, type Logger } from '@a2a-cluster/core';
import type { Database, HintSource, LogHead, StoredTask } from '@a2a-cluster/db';
import { createFakeClock, type FakeClock } from '@a2a-cluster/testing';
import {
  createEventStream,
  type EventStream,
  type EventStreamOptions,
  type Tail,
  type TailItem,
} from '../src/index.js';

export const SCOPE = { tenant: '', owner: 'alice' };

/** The codec's JSON of a status update. */
export function statusPayload(taskId: string, text = ''): string {
  const status = { state: TaskState.TASK_STATE_WORKING, message: undefined, timestamp: undefined };
  return encodeEvent({ kind: 'statusUpdate', data: { taskId, contextId: 'c', status, metadata: { text } } });
}

interface StoredLog {
  rows: EventRow[];
  lease: LogHead['lease'];
  state: string;
}

/** A log in memory whose answers can be late, wrong or missing: what a database does on a bad day. */
export class FakeLog {
  readonly tasks = new Map<string, StoredLog>();
  readonly calls = { readTask: 0, readHeads: 0, readEvents: 0, readEventsOf: 0 };
  /** The ids each query of heads asked for. */
  readonly asked: string[][] = [];
  running = 0;
  mostAtOnce = 0;
  /** How long the next answers take, in order; 0 when it is empty. What they say is decided when they are asked. */
  latencies: number[] = [];
  /** Thrown by every statement while it is set. */
  fault: Error | null = null;
  /** Thrown by reads of events that would give this row. */
  unreadable: { taskId: string; seq: number; error: Error } | null = null;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  create(taskId: string, epoch = 1): EventRow[] {
    this.tasks.set(taskId, {
      rows: [],
      lease: { holder: 'r', epoch, cancelAgeMs: null },
      state: 'TASK_STATE_WORKING',
    });
    return this.append(taskId, 1);
  }

  append(taskId: string, count: number, text = ''): EventRow[] {
    const task = this.task(taskId);
    const first = task.rows.length;
    const epoch = task.lease?.epoch ?? 0;
    const rows = Array.from({ length: count }, (_, index): EventRow => ({
      taskId,
      seq: first + index + 1,
      kind: 'statusUpdate',
      payload: statusPayload(taskId, text),
      messageId: null,
      holder: 'r',
      epoch,
    }));
    task.rows.push(...rows);
    return rows;
  }

  task(taskId: string): StoredLog {
    const task = this.tasks.get(taskId);
    if (!task) throw new Error(`no task ${taskId}`);
    return task;
  }

  head(taskId: string): LogHead {
    const { rows, lease, state } = this.task(taskId);
    return { taskId, version: rows.at(-1)?.seq ?? 0, state, lease };
  }

  get statements(): Database['log'] {
    return {
      readTask: ({ taskId }) => this.#answer('readTask', () => this.#stored(taskId)),
      readHeads: (taskIds) => {
        this.asked.push([...taskIds]);
        return this.#answer('readHeads', () =>
          taskIds.filter((taskId) => this.tasks.has(taskId)).map((taskId) => this.head(taskId)),
        );
      },
      readEvents: ({ taskId, after, limit }) =>
        this.#answer('readEvents', () => this.#readable(this.#after(taskId, after).slice(0, limit))),
      readEventsOf: ({ cursors, limit }) =>
        this.#answer('readEventsOf', () =>
          this.#readable(
            sorted(cursors)
              .flatMap(({ taskId, after }) => this.#after(taskId, after))
              .slice(0, limit),
          ),
        ),
      findMessage: async () => null,
    };
  }

  #after(taskId: string, after: number): EventRow[] {
    return (this.tasks.get(taskId)?.rows ?? []).filter(({ seq }) => seq > after);
  }

  #readable(rows: EventRow[]): EventRow[] {
    const bad = this.unreadable;
    if (bad && rows.some(({ taskId, seq }) => taskId === bad.taskId && seq === bad.seq)) throw bad.error;
    return rows;
  }

  #stored(taskId: string): StoredTask | null {
    if (!this.tasks.has(taskId)) return null;
    const { version, state, lease } = this.head(taskId);
    const view = lease && { ...lease, pending: false, remainingMs: 1_000 };
    const events = this.#after(taskId, 0);
    const task = { taskId, scope: SCOPE, contextId: 'c', state, version, lease: view };
    return { ...task, snapshot: null, snapshotVersion: 0, events };
  }

  async #answer<T>(call: keyof FakeLog['calls'], read: () => T): Promise<T> {
    this.calls[call] += 1;
    if (call !== 'readHeads' && call !== 'readEventsOf') return this.#late(read);
    this.running += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.running);
    try {
      return await this.#late(read);
    } finally {
      this.running -= 1;
    }
  }

  async #late<T>(read: () => T): Promise<T> {
    if (this.fault) throw this.fault;
    const answer = read();
    const latencyMs = this.latencies.shift() ?? 0;
    if (latencyMs > 0) await new Promise<void>((resolve) => this.#clock.setTimer(latencyMs, resolve));
    else await Promise.resolve();
    return answer;
  }
}

/** A stream over a {@link FakeLog} on a clock that the test moves. */
export interface Bench {
  readonly clock: FakeClock;
  readonly log: FakeLog;
  readonly stream: EventStream;
  readonly warnings: string[];
}

/** A started stream. Polls unless a source of hints is given. */
export async function createBench(
  options: EventStreamOptions & { source?: HintSource; clock?: FakeClock } = {},
): Promise<Bench> {
  const { source = { kind: 'none' }, clock = createFakeClock(), ...rest } = options;
  const log = new FakeLog(clock);
  const warnings: string[] = [];
  const ignore = (): void => {};
  const logger: Logger = {
    debug: ignore,
    info: ignore,
    error: ignore,
    warn: (_, text) => warnings.push(text),
  };
  const database = { log: log.statements, hints: source, provider: 'memory' as const };
  const stream = createEventStream({ database, clock, logger, options: rest });
  await stream.start();
  return { clock, log, stream, warnings };
}

/** What a tail gives, gathered as it comes. */
export interface Gathered {
  readonly tail: Tail;
  readonly items: TailItem[];
  seqs(): number[];
  heads(): LogHead[];
  ended: boolean;
  error: unknown;
}

/** Pulls everything a tail gives. */
export function gather(tail: Tail): Gathered {
  const items: TailItem[] = [];
  const gathered: Gathered = {
    tail,
    items,
    seqs: () => items.flatMap((item) => (item.type === 'event' ? [item.row.seq] : [])),
    heads: () => items.flatMap((item) => (item.type === 'head' ? [item.head] : [])),
    ended: false,
    error: null,
  };
  const pull = async (): Promise<void> => {
    for await (const item of tail) items.push(item);
  };
  pull().then(
    () => (gathered.ended = true),
    (error: unknown) => {
      gathered.error = error;
      gathered.ended = true;
    },
  );
  return gathered;
}

/** The numbers from..to. */
export function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(to - from + 1, 0) }, (_, index) => from + index);
}

/** Rows come in the order of ids, as from a database. */
function sorted<T extends { readonly taskId: string }>(cursors: readonly T[]): T[] {
  return [...cursors].sort((a, b) => (a.taskId < b.taskId ? -1 : 1));
}
