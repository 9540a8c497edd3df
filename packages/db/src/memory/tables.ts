import type { Clock, EventRow, NewEvent, Scope, StateName } from '@a2a-cluster/core';
import { ClusterError } from '@a2a-cluster/core';
import type { DeadLetter, PushStatus } from '../statements/push-queue.js';
import type { ReplicaIdentity, ReplicaReport } from '../statements/replica-statements.js';
import type { PushConfigRow } from '../statements/task-queries.js';

/** A row of `tasks` in memory. */
export interface TaskRecord {
  readonly taskId: string;
  readonly scope: Scope;
  readonly contextId: string;
  state: StateName;
  /** ISO 8601, or null when the agent gave none. */
  statusTimestamp: string | null;
  /** The seq of the last event. */
  version: number;
  /** Milliseconds since 1970 by {@link MemoryTables.nowMs}, as the next. */
  readonly createdAtMs: number;
  /** When the last event was appended. */
  updatedAtMs: number;
}

/** A row of `task_leases` in memory; moments are milliseconds since 1970 by {@link MemoryTables.nowMs}. */
export interface LeaseRecord {
  readonly taskId: string;
  readonly scope: Scope;
  holder: string;
  epoch: number;
  pending: boolean;
  acquiredAtMs: number;
  expiresAtMs: number;
  cancelRequestedAtMs: number | null;
}

/** A row of `task_events` in memory. */
export interface EventRecord extends EventRow {
  readonly writeId: string;
  /** Milliseconds since 1970 by {@link MemoryTables.nowMs}. */
  readonly createdAtMs: number;
}

/** A row of `replicas` in memory; moments as above. */
export interface ReplicaRecord {
  readonly identity: ReplicaIdentity;
  report: ReplicaReport;
  readonly startedAtMs: number;
  beatAtMs: number;
  pauseRequestedAtMs: number | null;
}

/** A row of `task_snapshots` in memory. */
export interface SnapshotRecord {
  readonly version: number;
  readonly payload: string;
}

/** A row of `push_notification_configs` in memory. */
export interface PushRecord {
  config: PushConfigRow;
  position: number;
  status: PushStatus;
  /** Null: nothing is to come. */
  dueAtMs: number | null;
  holder: string | null;
  claim: number;
  attempts: number;
  failingSinceMs: number | null;
  lastError: string | null;
  body: { readonly seq: number; readonly text: string } | null;
  changedAtMs: number;
}

/** A row of `push_dead_letters` in memory. */
export interface DeadLetterRecord {
  readonly letter: DeadLetter;
  readonly scope: Scope;
  attempts: number;
  error: string;
  readonly diedAtMs: number;
  dueAtMs: number | null;
  holder: string | null;
  claim: number;
  deliveredAtMs: number | null;
}

/** What the rows appended to a log share. */
export interface Appended {
  readonly taskId: string;
  readonly holder: string;
  readonly epoch: number;
}

/**
 * The tables of protocol 1 as maps of one process. The statements over them run without an await inside, so each is
 * atomic; nothing here survives the process.
 */
export class MemoryTables {
  readonly tasks = new Map<string, TaskRecord>();
  readonly leases = new Map<string, LeaseRecord>();
  /** Per task, in seq order, without a gap. Retention takes the first rows of an ended task's. */
  readonly events = new Map<string, EventRecord[]>();
  readonly snapshots = new Map<string, SnapshotRecord>();
  /** Per task and config id, in the order of the first save. */
  readonly pushConfigs = new Map<string, Map<string, PushRecord>>();
  readonly replicas = new Map<string, ReplicaRecord>();
  /** The oldest first. */
  deadLetters: DeadLetterRecord[] = [];
  private readonly clock: Clock;
  private readonly originMs: number;

  constructor(clock: Clock) {
    this.clock = clock;
    this.originMs = Date.parse(clock.wallIso()) - clock.monotonicMs();
  }

  /** The database's clock: milliseconds since 1970 that advance with the injected clock's monotonic time. */
  nowMs(): number {
    return this.originMs + this.clock.monotonicMs();
  }

  /** The log of a task, empty when there is none. */
  logOf(taskId: string): readonly EventRecord[] {
    return this.events.get(taskId) ?? [];
  }

  /** The rows of a log with a seq above this. */
  rowsAfter(taskId: string, after: number): readonly EventRecord[] {
    const log = this.logOf(taskId);
    return log.slice(Math.max(0, after + 1 - (log[0]?.seq ?? 1)));
  }

  /** The row that carries a user message, if there is one. */
  messageRow(taskId: string, messageId: string): EventRecord | undefined {
    return this.logOf(taskId).find((row) => row.messageId === messageId);
  }

  /**
   * Adds events at the end of a log.
   * @throws ClusterError `STORE_FAULT` when a message id is in the log already; then nothing was added.
   */
  append(appended: Appended, events: readonly NewEvent[]): void {
    const { taskId, holder, epoch } = appended;
    const log = [...this.logOf(taskId)];
    const createdAtMs = Math.floor(this.nowMs());
    for (const { kind, payload, writeId, messageId = null } of events) {
      if (messageId !== null && log.some((row) => row.messageId === messageId)) {
        throw new ClusterError('STORE_FAULT', `message ${messageId} is in the log of task ${taskId} already`);
      }
      log.push({
        taskId,
        seq: log.length + 1,
        kind,
        payload,
        writeId,
        messageId,
        holder,
        epoch,
        createdAtMs,
      });
    }
    const task = this.tasks.get(taskId);
    if (task) task.updatedAtMs = createdAtMs;
    this.events.set(taskId, log);
  }
}

/** Whether a lease has expired at `nowMs`. */
export function isExpired(lease: LeaseRecord, nowMs: number): boolean {
  return lease.expiresAtMs <= nowMs;
}

/** Milliseconds since a cancel was asked for, or null. */
export function cancelAgeOf(lease: LeaseRecord, nowMs: number): number | null {
  return lease.cancelRequestedAtMs === null ? null : nowMs - lease.cancelRequestedAtMs;
}

/** Byte order of the UTF-8 forms, as every database compares keys (protocol 1). */
export function compareKeys(a: string, b: string): number {
  return a === b ? 0 : Buffer.compare(Buffer.from(a, 'utf8'), Buffer.from(b, 'utf8'));
}
