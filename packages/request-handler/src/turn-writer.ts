import { Task } from '@a2a-js/sdk';
import { isInterruptedName, stateName, type Scope, type StateName } from '@a2a-cluster/core';
import type { TaskMove } from '@a2a-cluster/db';
import type { CommitResult, CreateResult, Journal, LeaseAuthority } from '@a2a-cluster/task-store';
import type { PreparedEvent } from './prepared-event.js';
import { SnapshotPolicy } from './snapshot-policy.js';
import type { TaskFold } from './task-fold.js';
import type { OpenedTurn } from './turn-spec.js';

/** Most bytes that go into one commit; a single larger event goes alone. */
const MAX_BATCH_BYTES = 1024 * 1024;

/** Columns hold this much of a status timestamp. */
const MAX_TIMESTAMP_LENGTH = 64;

/** What the writer writes with. */
export interface TurnWriterOptions {
  readonly journal: Pick<Journal, 'create' | 'commit'>;
  readonly taskId: string;
  readonly contextId: string;
  readonly scope: Scope;
  readonly holder: string;
  readonly ttlMs: number;
  /** No batch together with a snapshot exceeds this. */
  readonly maxEventBytes: number;
  readonly maxQueuedBytes: number;
  /** Where the log stands; null: the task is not stored yet. */
  readonly opened: Pick<OpenedTurn, 'version' | 'task'> | null;
  /** Holds every event that the writer is given, before it is. */
  readonly fold: TaskFold;
  /** Fires when nothing may be written any more. */
  readonly lost: AbortSignal;
  /** The right to write, once the task is stored. */
  authority(): LeaseAuthority;
  readonly events: TurnWriterEvents;
}

/** What stands in the log now. */
export interface StoredBatch {
  readonly version: number;
  readonly state: StateName;
  readonly terminal: boolean;
}

/** What the writer tells its turn. */
export interface TurnWriterEvents {
  /** The task and its lease are stored. */
  onCreated(created: CreateResult & { readonly ok: true }, ended: boolean): void;
  /** A commit that ends the turn's lease is sent (true), or came back without having ended it (false). */
  onEnding(active: boolean): void;
  onStored(stored: StoredBatch): void;
  /** The log belongs to somebody else now. */
  onRefused(refusal: string): void;
  /** The database refused for a whole TTL. */
  onFault(error: unknown): void;
}

/**
 * Stores a turn's events in order, one commit at a time; what queues meanwhile goes together in the next one, cut
 * after a terminal event (protocol 3.8).
 */
export class TurnWriter {
  private readonly queue: PreparedEvent[] = [];
  private queuedBytes = 0;
  private pumping = false;
  private stopped = false;
  private version: number;
  private state: StateName;
  private created: boolean;
  private readonly snapshots: SnapshotPolicy;
  /** Rows were adopted that the turn's own document lacks: it must not become the snapshot any more. */
  private documentLags = false;
  /** How many events of the turn have gone into batches. */
  private taken = 0;
  private readonly waiters: (() => void)[] = [];

  constructor(private readonly options: TurnWriterOptions) {
    const { opened } = options;
    this.version = opened?.version ?? 0;
    this.state = opened ? stateName(opened.task.status?.state) : '';
    this.created = opened !== null;
    this.snapshots = new SnapshotPolicy(0);
  }

  /** Whether the task stands in the database. */
  get isCreated(): boolean {
    return this.created;
  }

  /** The task as of that version; undefined where it is not exactly the last that was stored. */
  taskAt(version: number): Task | undefined {
    return version === this.version && !this.documentLags && !this.pumping
      ? this.options.fold.at(this.taken)
      : undefined;
  }

  /** Takes an event; false when the queue is over its limit with it (it is taken all the same). */
  add(event: PreparedEvent): boolean {
    if (this.stopped) return true;
    this.queue.push(event);
    this.queuedBytes += event.bytes;
    if (!this.pumping) void this.pump();
    return this.queuedBytes <= this.options.maxQueuedBytes;
  }

  /** Drops what waits and takes nothing more. What is on its way may still land. */
  stop(): void {
    this.stopped = true;
    this.queue.length = 0;
    this.queuedBytes = 0;
    this.wake();
  }

  /** Resolves when nothing waits and nothing is on its way, or the writer was stopped. */
  drained(): Promise<void> {
    if (this.stopped || (!this.pumping && this.queue.length === 0)) return Promise.resolve();
    return new Promise((resolve) => this.waiters.push(resolve));
  }

  private async pump(): Promise<void> {
    this.pumping = true;
    // A burst published in one go is one commit.
    await Promise.resolve();
    try {
      while (this.queue.length > 0 && !this.stopped) await this.writeBatch(this.takeBatch());
    } catch (error) {
      this.stop();
      this.options.events.onFault(error);
    } finally {
      this.pumping = false;
      if (this.queue.length === 0) this.wake();
    }
  }

  private takeBatch(): PreparedEvent[] {
    const batch: PreparedEvent[] = [];
    let bytes = 0;
    for (let next = this.queue[0]; next !== undefined; next = this.queue[0]) {
      if (batch.length > 0 && bytes + next.bytes > MAX_BATCH_BYTES) break;
      this.queue.shift();
      batch.push(next);
      bytes += next.bytes;
      if (next.terminal) break;
    }
    this.taken += batch.length;
    return batch;
  }

  private async writeBatch(batch: readonly PreparedEvent[]): Promise<void> {
    const last = batch.at(-1);
    if (last === undefined) return;
    const bytes = batch.reduce((sum, event) => sum + event.bytes, 0);
    const move = this.moveOf(batch, last, bytes);
    if (move.terminal) this.options.events.onEnding(true);
    const result = await (this.created ? this.commit(batch, move) : this.create(batch, move, last));
    this.queuedBytes = Math.max(0, this.queuedBytes - bytes);
    if (!result.ok) {
      if (move.terminal) this.options.events.onEnding(false);
      this.stop();
      this.options.events.onRefused(result.refusal);
      return;
    }
    this.version = result.version;
    this.state = last.stateAfter;
    if ('adopted' in result && result.adopted.length > 0) this.documentLags = true;
    const snapshotBytes = move.snapshot === null ? null : Buffer.byteLength(move.snapshot, 'utf8');
    this.snapshots.stored({ bytes, snapshotBytes });
    const { version } = result;
    this.options.events.onStored({ version, state: last.stateAfter, terminal: move.terminal });
    if (move.terminal) this.stop();
  }

  private moveOf(batch: readonly PreparedEvent[], last: PreparedEvent, bytes: number): TaskMove {
    const setsStatus = batch.some((event) => event.setsStatus);
    const status = batch.findLast((event) => event.status !== null)?.status;
    const parks = isInterruptedName(last.stateAfter) && setsStatus;
    return {
      state: last.stateAfter === this.state ? null : last.stateAfter,
      statusTimestamp: storableTimestamp(status?.timestamp),
      terminal: last.terminal,
      clearsPending: setsStatus,
      snapshot: this.snapshotOf({ bytes, ends: last.terminal || parks }),
    };
  }

  private snapshotOf(batch: { readonly bytes: number; readonly ends: boolean }): string | null {
    if (this.documentLags || !this.snapshots.isDue(batch)) return null;
    const task = this.options.fold.at(this.taken);
    // Folded past this batch for a later event: the next batch brings it.
    if (task === undefined) return null;
    const snapshot = JSON.stringify(Task.toJSON(task));
    const bytes = Buffer.byteLength(snapshot, 'utf8');
    if (bytes + batch.bytes <= this.options.maxEventBytes) return snapshot;
    this.snapshots.tooLarge(bytes);
    return null;
  }

  private commit(batch: readonly PreparedEvent[], move: TaskMove): Promise<CommitResult> {
    const { state, statusTimestamp, terminal, clearsPending, snapshot } = move;
    return this.options.journal.commit({
      state,
      statusTimestamp,
      terminal,
      clearsPending,
      snapshot,
      authority: this.options.authority(),
      scope: this.options.scope,
      expectedVersion: this.version,
      currentState: this.state,
      events: batch.map((event) => event.newEvent),
    });
  }

  private async create(
    batch: readonly PreparedEvent[],
    move: TaskMove,
    last: PreparedEvent,
  ): Promise<CreateResult> {
    const { taskId, contextId, scope, holder, ttlMs, lost, journal, events } = this.options;
    const result = await journal.create({
      ...move,
      state: last.stateAfter,
      taskId,
      contextId,
      scope,
      holder,
      ttlMs,
      lost,
      events: batch.map((event) => event.newEvent),
    });
    if (result.ok) {
      this.created = true;
      events.onCreated(result, move.terminal);
    }
    return result;
  }

  private wake(): void {
    for (const waiter of this.waiters.splice(0)) waiter();
  }
}

/**
 * What the column holds of an agent's timestamp. Lists sort by it as text, so moments are brought to one form; agents
 * may write anything else there, and then it is kept as far as every database takes it.
 */
function storableTimestamp(timestamp: string | undefined): string | null {
  if (!timestamp) return null;
  const ms = Date.parse(timestamp);
  if (!Number.isNaN(ms)) return new Date(ms).toISOString();
  const text = timestamp.slice(0, MAX_TIMESTAMP_LENGTH);
  return text.isWellFormed() && !text.includes('\u0000') ? text : null;
}
