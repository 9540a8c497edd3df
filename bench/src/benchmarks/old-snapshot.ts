import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { createDatabase, type Database } from '@a2a-cluster/db';
import { MANY, openRaw, sweepOf, type RawConnection } from '@a2a-cluster/testing';
import type { BenchContext, Benchmark, Figure } from '../benchmark.js';
import { median, quantile, spreadOf } from '../harness/statistics.js';
import { nowMs, samplesMs } from '../harness/time.js';

const LEASES = 1_000;
const TTL_MS = 3_600_000;
const HOLDER = 'bench';
/** A third of a TTL of 15 s, as replicas beat. */
const BEAT_EVERY_MS = 5_000;

/** B9: what a forgotten transaction costs whose snapshot keeps every old row version alive. */
export const oldSnapshot: Benchmark = {
  id: 'B9',
  title: 'an old snapshot, held open by a transaction that does nothing',
  databases: ['postgresql'],
  onDemand: true,
  run: async (context) => {
    const url = await context.freshDatabase();
    const database = await createDatabase({ url, ttlMs: TTL_MS });
    context.cleanUp(() => database.close());
    const raw = await openRaw(url);
    context.cleanUp(() => raw.close());
    const load = await Load.start(database);
    const phase = { context, raw, load };
    const before = await measure(phase, { heldMs: quickOr(context, 2_000, 60_000) });
    const snapshot = await openRaw(url);
    context.cleanUp(() => snapshot.close());
    await snapshot.run('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM task_leases');
    const heldMs = (context.minutes ?? (context.quick ? 5 / 60 : 10)) * 60_000;
    const held = await measure(phase, { heldMs });
    await snapshot.run('COMMIT');
    await raw.run('VACUUM task_leases; ');
    const after = await measure(phase, { heldMs: quickOr(context, 2_000, 60_000) });
    return figuresOf({ before, held, after, heldMs });
  },
};

const quickOr = ({ quick }: BenchContext, small: number, full: number): number => (quick ? small : full);

const event = () => ({ kind: 'artifactUpdate' as const, payload: '{"bench":true}', writeId: randomUUID() });
const stays = { statusTimestamp: null, terminal: false, clearsPending: false, snapshot: null };

/** A thousand running turns of one replica. */
class Load {
  private readonly database: Database;
  private readonly versions = new Map<string, number>();

  private constructor(database: Database) {
    this.database = database;
  }

  static async start(database: Database): Promise<Load> {
    const load = new Load(database);
    for (let n = 0; n < LEASES; n += 1) {
      const taskId = randomUUID();
      await database.journal.createTask({
        ...{ taskId, scope: MANY, contextId: taskId, holder: HOLDER, ttlMs: TTL_MS, ...stays },
        ...{ state: 'TASK_STATE_WORKING', events: [{ ...event(), kind: 'task' }] },
      });
      load.versions.set(taskId, 1);
    }
    return load;
  }

  async beat(): Promise<void> {
    const leases = [...this.versions.keys()].map((taskId) => ({ taskId, epoch: 1 }));
    const renewed = await this.database.leases.beat({ holder: HOLDER, ttlMs: TTL_MS, leases });
    if (renewed.length !== LEASES) throw new Error(`${renewed.length} of ${LEASES} leases were renewed`);
  }

  /** A chunk of the task whose turn it is. */
  async commit(): Promise<void> {
    const [taskId, expectedVersion] = [...this.versions][0] as [string, number];
    const write = { taskId, expectedVersion, holder: HOLDER, epoch: 1, events: [event()], state: null };
    const { ok } = await this.database.journal.commit({ ...write, ...stays });
    if (!ok) throw new Error('a commit was refused');
    this.versions.delete(taskId);
    this.versions.set(taskId, expectedVersion + 1);
  }

  async sweep(): Promise<void> {
    await this.database.journal.sweep(sweepOf(500));
  }
}

interface Phase {
  readonly beat: readonly number[];
  readonly commit: readonly number[];
  readonly sweep: readonly number[];
  /** Of the updates of leases and of tasks, the share that touched no index. */
  readonly hotLeases: number;
  readonly hotTasks: number;
  readonly leaseBytes: number;
}

/** Beats and commits as a replica does for a while; what the last tenth of it took, and what became of the rows. */
async function measure(
  parts: { readonly context: BenchContext; readonly raw: RawConnection; readonly load: Load },
  { heldMs }: { readonly heldMs: number },
): Promise<Phase> {
  const { context, raw, load } = parts;
  const was = await counters(raw);
  const untilMs = nowMs() + heldMs;
  const everyMs = context.quick ? 200 : BEAT_EVERY_MS;
  while (nowMs() < untilMs) {
    const nextMs = nowMs() + everyMs;
    await load.beat();
    while (nowMs() < nextMs) {
      await load.commit();
      await pause(20);
    }
  }
  const count = context.quick ? 10 : 50;
  const beat = await samplesMs(Math.ceil(count / 5), () => load.beat());
  const commit = await samplesMs(count * 4, () => load.commit());
  const sweep = await samplesMs(count, () => load.sweep());
  const now = await counters(raw);
  return {
    ...{ beat, commit, sweep, leaseBytes: now.leaseBytes },
    hotLeases: (now.leaseHot - was.leaseHot) / (now.leaseUpdates - was.leaseUpdates),
    hotTasks: (now.taskHot - was.taskHot) / (now.taskUpdates - was.taskUpdates),
  };
}

async function counters(raw: RawConnection) {
  // Backends report a second late at most.
  await pause(1_500);
  const rows = await raw.query(
    `SELECT relname, n_tup_upd::float8 AS updates, n_tup_hot_upd::float8 AS hot,
            pg_relation_size(relid)::float8 AS bytes
       FROM pg_stat_user_tables WHERE relname IN ('tasks', 'task_leases')`,
  );
  const of = (table: string, column: string): number =>
    Number(rows.find((row) => row['relname'] === table)?.[column] ?? 0);
  return {
    ...{ leaseUpdates: of('task_leases', 'updates'), leaseHot: of('task_leases', 'hot') },
    ...{ taskUpdates: of('tasks', 'updates'), taskHot: of('tasks', 'hot') },
    leaseBytes: of('task_leases', 'bytes'),
  };
}

function figuresOf(phases: {
  readonly before: Phase;
  readonly held: Phase;
  readonly after: Phase;
  readonly heldMs: number;
}): Figure[] {
  const { before, held, after, heldMs } = phases;
  const minutes = Number((heldMs / 60_000).toFixed(1));
  const names = { beat: 'heartbeat of 1 000 leases', commit: 'commit of one event', sweep: 'idle sweep' };
  const ratios = (['beat', 'commit', 'sweep'] as const).flatMap((name) =>
    [['held', held] as const, ['gone', after] as const].map(([when, phase]): Figure => ({
      figure: `${names[name]}, p50: snapshot ${when === 'held' ? `held for ${minutes} min` : 'gone'} / before`,
      unit: 'ratio',
      value: median(phase[name]) / median(before[name]),
      bar: null,
      baseline: 'the same load before the snapshot',
      spread: spreadOf(phase[name].map((ms) => ms / median(before[name]))),
      detail: {
        'before ms': median(before[name]),
        'now ms': median(phase[name]),
        'now p99 ms': quantile(phase[name], 0.99),
      },
    })),
  );
  return [
    ...ratios,
    hotFigure('leases', { before: before.hotLeases, held: held.hotLeases, after: after.hotLeases }),
    hotFigure('tasks', { before: before.hotTasks, held: held.hotTasks, after: after.hotTasks }),
    {
      ...{ figure: 'size of task_leases while the snapshot was held', unit: 'MiB', spread: null, bar: null },
      value: held.leaseBytes / 2 ** 20,
      baseline: `${(before.leaseBytes / 2 ** 20).toFixed(2)} MiB before`,
    },
  ];
}

function hotFigure(
  rows: string,
  share: { readonly before: number; readonly held: number; readonly after: number },
): Figure {
  return {
    ...{ figure: `updates of ${rows} that touched no index, snapshot held`, unit: 'share', spread: null },
    value: share.held,
    bar: null,
    baseline: `${share.before.toFixed(3)} before, ${share.after.toFixed(3)} after`,
  };
}
