import { ClusterError, createSilentLogger, sleep, type Logger, type Telemetry } from '@a2a-cluster/core';
import {
  createMemoryDatabase,
  type Database,
  type LeaselessBatch,
  type SweepBatch,
  type SweepOutcome,
} from '@a2a-cluster/db';
import { createClockWatch, resolveLeaseOptions, type ClockWatch } from '@a2a-cluster/lease-store';
import { createFakeClock, type FakeClock } from '@a2a-cluster/testing';
import { createAbandonedTaskSweeper, type AbandonedTaskSweeper } from '../src/index.js';

/** What a test does to the database behind the sweeper's back. */
export interface Trouble {
  /** Tasks whose rows somebody else has locked. */
  readonly locked: Set<string>;
  /** Tasks that fail whatever statement takes them. */
  readonly bad: Set<string>;
  /** Every statement fails like this. */
  outage: ClusterError | null;
  /** Writes fail like this, reads do not. */
  readOnly: ClusterError | null;
  identity: string;
}

export interface Harness {
  readonly clock: FakeClock;
  readonly db: Database;
  readonly clockWatch: ClockWatch;
  readonly trouble: Trouble;
  readonly sweeper: AbandonedTaskSweeper;
  /** Every sweep statement, with the time at which it was sent. */
  readonly sweeps: (SweepBatch & { readonly atMs: number })[];
  readonly logged: { readonly level: string; readonly message: string; readonly taskId: unknown }[];
}

export const TTL_MS = 15_000;

export function createHarness(
  more: {
    readonly batchSize?: number;
    readonly restShare?: number;
    readonly random?: () => number;
    /** How long a sweep statement takes; default: no time at all. */
    readonly statementMs?: number;
    readonly orphanAfterMs?: number;
    readonly sweepLeaseless?: Database['journal']['sweepLeaseless'];
    readonly telemetry?: Telemetry;
  } = {},
): Harness {
  const clock = createFakeClock();
  const db = createMemoryDatabase({ clock });
  const trouble: Trouble = {
    locked: new Set(),
    bad: new Set(),
    outage: null,
    readOnly: null,
    identity: 'one',
  };
  const sweeps: Harness['sweeps'] = [];
  const logged: { level: string; message: string; taskId: unknown }[] = [];
  const logger = recordingLogger(logged);
  const up = <T>(run: () => Promise<T>): Promise<T> =>
    trouble.outage ? Promise.reject(trouble.outage) : run();
  const leases = {
    ...db.leases,
    nextExpiry: () => up(() => db.leases.nextExpiry()),
    listLeases: (limit: number) => up(() => db.leases.listLeases(limit)),
    readClock: () => up(async () => ({ ...(await db.leases.readClock()), identity: trouble.identity })),
    clampFuture: (ttlMs: number) => up(() => db.leases.clampFuture(ttlMs)),
  };
  const journal = {
    sweep: (batch: SweepBatch) =>
      up(async () => {
        sweeps.push({ ...batch, atMs: clock.monotonicMs() });
        if (more.statementMs !== undefined) await sleep({ clock, delayMs: more.statementMs });
        return troubledSweep({ db, trouble, batch });
      }),
    sweepOrphans: (limit: number) => up(() => db.journal.sweepOrphans(limit)),
    sweepLeaseless: (batch: LeaselessBatch) =>
      up(() => (more.sweepLeaseless ?? db.journal.sweepLeaseless)(batch)),
  };
  const lease = resolveLeaseOptions({ ttlMs: TTL_MS });
  const clockWatch = createClockWatch({ leases, options: lease, clock, logger });
  const sweeper = createAbandonedTaskSweeper({
    journal,
    leases,
    clockWatch,
    sweeperId: 'replica-s',
    options: {
      sweepIntervalMs: lease.sweepIntervalMs,
      ttlMs: lease.ttlMs,
      batchSize: more.batchSize,
      restShare: more.restShare,
      orphanAfterMs: more.orphanAfterMs,
    },
    telemetry: more.telemetry,
    clock,
    logger,
    random: more.random ?? (() => 0.5),
  });
  return { clock, db, clockWatch, trouble, sweeper, sweeps, logged };
}

async function troubledSweep(options: {
  readonly db: Database;
  readonly trouble: Trouble;
  readonly batch: SweepBatch;
}): Promise<SweepOutcome> {
  const { db, trouble, batch } = options;
  const expired = (await db.leases.listLeases(10_000))
    .filter((lease) => lease.remainingMs <= 0)
    .map((lease) => lease.taskId)
    .filter((taskId) => batch.taskId === undefined || batch.taskId === taskId)
    .filter((taskId) => !batch.except?.includes(taskId))
    .slice(0, batch.limit);
  if (trouble.readOnly && expired.length > 0) throw trouble.readOnly;
  const broken = expired.find((taskId) => trouble.bad.has(taskId));
  if (broken !== undefined) throw new ClusterError('ROW_CORRUPT', `task ${broken} cannot be read`);
  const locked = expired.filter((taskId) => trouble.locked.has(taskId));
  const except = [...(batch.except ?? []), ...trouble.locked];
  const { swept, candidates } = await db.journal.sweep({
    ...batch,
    except,
    limit: batch.limit - locked.length,
  });
  return { swept, candidates: candidates + locked.length };
}

/** A task whose lease a replica holds for `ttlMs` from now on. */
export async function createTask(
  db: Database,
  task: { readonly taskId: string; readonly ttlMs?: number; readonly state?: string },
): Promise<void> {
  const created = await db.journal.createTask({
    taskId: task.taskId,
    scope: { tenant: '', owner: 'alice' },
    contextId: `context of ${task.taskId}`,
    holder: 'replica-dead',
    ttlMs: task.ttlMs ?? TTL_MS,
    state: task.state ?? 'TASK_STATE_WORKING',
    statusTimestamp: null,
    terminal: false,
    clearsPending: true,
    snapshot: null,
    events: [{ kind: 'task', payload: '{}', writeId: `create ${task.taskId}` }],
  });
  if (!created.ok) throw new Error(`task ${task.taskId} exists`);
}

export async function stateOf(db: Database, taskId: string): Promise<string | undefined> {
  return (await db.journal.look({ taskId }))?.state;
}

function recordingLogger(logged: { level: string; message: string; taskId: unknown }[]): Logger {
  const silent = createSilentLogger();
  const record =
    (level: keyof Logger): Logger[keyof Logger] =>
    (fields, message) => {
      silent[level](fields, message);
      logged.push({ level, message, taskId: fields['taskId'] });
    };
  return { debug: record('debug'), info: record('info'), warn: record('warn'), error: record('error') };
}
