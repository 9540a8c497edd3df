import { createSilentLogger, type LeaseKey, type Logger } from '@a2a-cluster/core';
import { createMemoryDatabase, type Database, type LeaseStatements } from '@a2a-cluster/db';
import { createFakeClock, type FakeClock } from '@a2a-cluster/testing';
import {
  createHeartbeat,
  type BeatReporter,
  resolveLeaseOptions,
  type BeatCounts,
  type Heartbeat,
  type HeldLease,
  type LeaseOptions,
  type LostCause,
  type ResolvedLeaseOptions,
} from '../src/index.js';

/** A line of the log. */
export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly fields: object;
}

/** A lease under test and what was told about it. */
export interface Watched {
  readonly key: LeaseKey;
  readonly held: HeldLease;
  readonly lost: { readonly cause: LostCause; readonly atMs: number }[];
  readonly cancels: number[];
}

/** A heartbeat over the in-memory database and a clock that the test moves. */
export interface Harness {
  readonly clock: FakeClock;
  readonly db: Database;
  readonly options: ResolvedLeaseOptions;
  readonly heartbeat: Heartbeat;
  readonly beats: BeatCounts[];
  readonly logged: LogLine[];
  /** Replaces statements from now on; the originals are at `db.leases`. */
  readonly fault: Partial<LeaseStatements>;
  /** Makes a task whose lease this replica holds, and begins to keep it. */
  acquire(taskId: string): Promise<Watched>;
  /** Milliseconds to the expiry by the database, or null when this lease has no row. */
  rowRemainingMs(key: LeaseKey): Promise<number | null>;
}

export const HOLDER = 'replica-a';

export function createHarness(
  more: LeaseOptions & {
    readonly onBeat?: (counts: BeatCounts) => void;
    readonly reporter?: BeatReporter;
  } = {},
): Harness {
  const clock = createFakeClock();
  const db = createMemoryDatabase({ clock });
  const { onBeat, reporter, ...leaseOptions } = more;
  const options = resolveLeaseOptions(leaseOptions);
  const fault: Partial<LeaseStatements> = {};
  const beats: BeatCounts[] = [];
  const logged: LogLine[] = [];
  const heartbeat = createHeartbeat({
    leases: withFaults(db.leases, fault),
    holder: HOLDER,
    options,
    clock,
    logger: recordingLogger(logged),
    onBeat: (counts) => {
      beats.push(counts);
      onBeat?.(counts);
    },
    reporter,
  });
  return {
    clock,
    db,
    options,
    heartbeat,
    beats,
    logged,
    fault,
    async acquire(taskId) {
      const sentAtMs = clock.monotonicMs();
      await createTask(db, { taskId, ttlMs: options.ttlMs });
      return watch(heartbeat, { key: { taskId, epoch: 1 }, sentAtMs, clock });
    },
    async rowRemainingMs(key) {
      const lease = (await db.journal.look({ taskId: key.taskId }))?.lease;
      return lease?.holder === HOLDER && lease.epoch === key.epoch ? lease.remainingMs : null;
    },
  };
}

/** Begins to keep a lease that is there. */
export function watch(
  heartbeat: Heartbeat,
  lease: { readonly key: LeaseKey; readonly sentAtMs: number; readonly clock: FakeClock },
): Watched {
  const lost: Watched['lost'] = [];
  const cancels: number[] = [];
  const held = heartbeat.hold({
    lease: lease.key,
    sentAtMs: lease.sentAtMs,
    onLost: (cause) => lost.push({ cause, atMs: lease.clock.monotonicMs() }),
    onCancelRequested: (ageMs) => cancels.push(ageMs),
  });
  return { key: lease.key, held, lost, cancels };
}

/** A task in WORKING with a lease at epoch 1. */
export async function createTask(
  db: Database,
  task: { readonly taskId: string; readonly ttlMs: number; readonly holder?: string },
): Promise<void> {
  const created = await db.journal.createTask({
    taskId: task.taskId,
    scope: { tenant: '', owner: 'alice' },
    contextId: `context of ${task.taskId}`,
    holder: task.holder ?? HOLDER,
    ttlMs: task.ttlMs,
    state: 'TASK_STATE_WORKING',
    statusTimestamp: null,
    terminal: false,
    clearsPending: true,
    snapshot: null,
    events: [{ kind: 'task', payload: '{}', writeId: `create ${task.taskId}` }],
  });
  if (!created.ok) throw new Error(`task ${task.taskId} exists`);
}

/** Gives a task to another turn, as a sweep and a follow-up would. */
export async function takeOver(
  db: Database,
  turn: { readonly taskId: string; readonly holder: string },
): Promise<number> {
  const look = await db.journal.look({ taskId: turn.taskId });
  if (look?.lease) await db.leases.release({ taskId: turn.taskId, ...look.lease });
  const opened = await db.journal.openTurn({
    taskId: turn.taskId,
    scope: { tenant: '', owner: 'alice' },
    contextId: null,
    holder: turn.holder,
    ttlMs: 15_000,
    event: { kind: 'message', payload: '{}', writeId: `open ${turn.taskId}`, messageId: `m ${turn.taskId}` },
    takeOver: true,
  });
  if (!opened.ok) throw new Error(`not opened: ${opened.refusal}`);
  return opened.epoch;
}

export function withFaults(leases: LeaseStatements, fault: Partial<LeaseStatements>): LeaseStatements {
  return new Proxy(leases, {
    get: (target, name) => Reflect.get(fault, name) ?? Reflect.get(target, name),
  });
}

/** A promise and its ends. */
export function deferred<T>(): {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
} {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}

/** Never settles: a connection that takes a statement and says nothing. */
export function hang<T>(): Promise<T> {
  return new Promise<T>(() => {});
}

/** Takes `ms` of the clock's time. */
export function pass(clock: FakeClock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.setTimer(ms, resolve));
}

export function recordingLogger(logged: LogLine[]): Logger {
  const silent = createSilentLogger();
  const record =
    (level: keyof Logger): Logger[keyof Logger] =>
    (fields, message) => {
      silent[level](fields, message);
      logged.push({ level, message, fields });
    };
  return { debug: record('debug'), info: record('info'), warn: record('warn'), error: record('error') };
}
