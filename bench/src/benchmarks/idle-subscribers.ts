import { setTimeout as pause } from 'node:timers/promises';
import type { Bar, BenchContext, Benchmark, Figure } from '../benchmark.js';
import { openGraphileWorker, openPgBoss, type JobQueue } from '../baselines/job-queues.js';
import { originalDatabase } from '../baselines/original-database.js';
import { openBackendCpu, type BackendCpu } from '../harness/backend-cpu.js';
import { sendTurn } from '../harness/client.js';
import { createCrowd, inParallel, type Crowd } from '../harness/crowd.js';
import { idleUse, type IdleUse } from '../harness/idle-window.js';
import { startServer, type BenchServer } from '../harness/server-process.js';
import { countStatements, describeCounts, totalOf } from '../harness/statements.js';
import { nowMs } from '../harness/time.js';

interface Size {
  /** Subscribers, each of a task of its own; the last has bars. */
  readonly steps: readonly number[];
  /** How long nothing happens. */
  readonly idleMs: number;
  /** How many hear of a release. */
  readonly released: number;
}

const HOLD = { events: 2, hold: true };
const HOLDS_AT_A_TIME = 20;
/** What subscribing costs is over by then. */
const SETTLE_MS = 2_000;

/** B5: what subscribers cost while nothing happens, and how soon all of them hear of something. */
export const idleSubscribers: Benchmark = {
  id: 'B5',
  title: 'idle subscribers of turns on another replica, and one event for all of them',
  databases: ['postgresql'],
  run: async (context) => {
    const size = sizeOf(context);
    const ours = await openStage(context, 'cluster');
    const uses = await measureSteps(ours, size);
    const releases = [await releaseSpread(ours, size), await releaseOne(ours, size)];
    await ours.close();
    const original = await openStage(context, 'original');
    const originals = await measureSteps(original, size);
    await original.close();
    return [...idleFigures({ size, uses, originals }), ...releases, ...(await queueFigures(context, size))];
  },
};

function sizeOf({ quick }: BenchContext): Size {
  return quick
    ? { steps: [10, 50], idleMs: 1_000, released: 100 }
    : { steps: [10, 100, 1_000], idleMs: 15_000, released: 5_000 };
}

/** Two servers on one database: turns run on the first, the second has the subscribers. */
interface Stage {
  readonly holder: BenchServer;
  readonly reader: BenchServer;
  readonly backends: BackendCpu;
  readonly crowd: Crowd;
  readonly taskIds: string[];
  close(): Promise<void>;
}

async function openStage(context: BenchContext, kind: 'cluster' | 'original'): Promise<Stage> {
  const databaseUrl = kind === 'cluster' ? await context.freshDatabase() : await originalDatabase(context);
  // With push: its looks for what others left are part of what idling costs.
  const settings = { kind, databaseUrl, push: kind === 'cluster' };
  const holder = await startServer(context, settings);
  const reader = await startServer(context, settings);
  const backends = await openBackendCpu(databaseUrl);
  context.cleanUp(() => backends.close());
  const crowd = createCrowd(reader.port);
  return {
    holder,
    reader,
    backends,
    crowd,
    taskIds: [],
    close: async () => {
      crowd.close();
      await Promise.all([holder.close(), reader.close()]);
    },
  };
}

async function holdTurns(stage: Stage, upTo: number): Promise<readonly string[]> {
  const before = stage.taskIds.length;
  const { port } = stage.holder;
  await inParallel({
    items: Array.from({ length: upTo - before }),
    atATime: HOLDS_AT_A_TIME,
    work: async () => {
      const { id } = await sendTurn({ port, script: HOLD, immediately: true });
      stage.taskIds.push(id);
    },
  });
  return stage.taskIds.slice(before);
}

async function measureSteps(stage: Stage, { steps, idleMs }: Size): Promise<IdleUse[]> {
  const uses: IdleUse[] = [];
  for (const subscribers of steps) {
    await stage.crowd.join(await holdTurns(stage, subscribers));
    await pause(SETTLE_MS);
    uses.push(await idleUse({ server: stage.reader, backends: stage.backends, forMs: idleMs }));
  }
  return uses;
}

/**
 * All tasks of the steps end at once, each with its share of the subscribers. Told only: it is a thousand turns that
 * end as much as five thousand frames.
 */
async function releaseSpread(stage: Stage, { released }: Size): Promise<Figure> {
  const { crowd, taskIds } = stage;
  while (crowd.size < released) await crowd.join(taskIds.slice(0, released - crowd.size));
  return release(stage, {
    what: `${released} subscribers of ${taskIds.length} tasks that end at once`,
    bar: null,
  });
}

/** One task with all subscribers. */
async function releaseOne(stage: Stage, { released }: Size): Promise<Figure> {
  const { id } = await sendTurn({ port: stage.holder.port, script: HOLD, immediately: true });
  const crowd = createCrowd(stage.reader.port);
  await crowd.join(Array.from({ length: released }, () => id));
  const what = `${released} subscribers of one task`;
  return release({ ...stage, crowd }, { what, bar: { op: '<=', limit: 2_000 } });
}

async function release(
  stage: Pick<Stage, 'holder' | 'reader' | 'crowd'>,
  { what, bar }: { readonly what: string; readonly bar: Bar | null },
): Promise<Figure> {
  const { holder, reader, crowd } = stage;
  await reader.stats();
  await pause(SETTLE_MS);
  const beganMs = nowMs();
  holder.release();
  const lastMs = await crowd.ended();
  const { statements } = await reader.stats();
  return {
    figure: `${what}: from the release to the last frame`,
    unit: 'ms',
    value: lastMs - beganMs,
    bar,
    baseline: 'the turns run on another replica; the clients are one process',
    spread: null,
    detail: { 'statements of the reading replica': totalOf(new Map(statements)) },
  };
}

function idleFigures(options: {
  readonly size: Size;
  readonly uses: readonly IdleUse[];
  readonly originals: readonly IdleUse[];
}): Figure[] {
  const { size, uses, originals } = options;
  return size.steps.flatMap((subscribers, step) => {
    const [own, original] = [uses[step], originals[step]];
    if (own === undefined || original === undefined) return [];
    const last = step === size.steps.length - 1;
    return stepFigures({ subscribers, own, original, last });
  });
}

function stepFigures(step: {
  readonly subscribers: number;
  readonly own: IdleUse;
  readonly original: IdleUse;
  readonly last: boolean;
}): Figure[] {
  const { subscribers, own, original, last } = step;
  const shape = "the original's shape (a poll per subscriber every 500 ms)";
  return [
    {
      figure: `${subscribers} idle subscribers: statements of their replica per second`,
      unit: 'statements/s',
      value: own.statementsPerSecond,
      bar: last ? { op: '<=', limit: 2 } : null,
      baseline: `${shape}: ${original.statementsPerSecond.toPrecision(3)}`,
      spread: null,
      detail: { statements: own.statements },
    },
    {
      figure: `${subscribers} idle subscribers: CPU of their replica`,
      unit: '% of a core',
      value: own.cpuPercent,
      bar: last ? { op: '<=', limit: 3 } : null,
      baseline: `${shape}: ${original.cpuPercent.toPrecision(3)}`,
      spread: null,
      detail: {
        'PostgreSQL %': own.databaseCpuPercent ?? 'unknown',
        "PostgreSQL % of the original's shape": original.databaseCpuPercent ?? 'unknown',
      },
    },
  ];
}

async function queueFigures(context: BenchContext, { idleMs }: Size): Promise<Figure[]> {
  const open = { 'pg-boss 10.4.2': openPgBoss, 'graphile-worker 0.16.6': openGraphileWorker };
  const figures: Figure[] = [];
  for (const [name, start] of Object.entries(open))
    figures.push(await idleQueue(name, { idleMs, queue: await start(await queueDatabase(context)) }));
  return figures;
}

function queueDatabase(context: BenchContext): Promise<string> {
  return context.freshDatabase({ migrated: false });
}

async function idleQueue(
  name: string,
  { queue, idleMs }: { readonly queue: JobQueue; readonly idleMs: number },
): Promise<Figure> {
  const statements = countStatements();
  try {
    await pause(idleMs);
  } finally {
    statements.stop();
    await queue.close();
  }
  const counts = statements.take();
  return {
    figure: `${name}: statements of one idle worker per second`,
    unit: 'statements/s',
    value: (totalOf(counts) * 1000) / idleMs,
    bar: null,
    baseline: 'defaults',
    spread: null,
    detail: { statements: describeCounts(counts) },
  };
}
