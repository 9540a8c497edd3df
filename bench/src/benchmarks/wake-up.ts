import { setTimeout as pause } from 'node:timers/promises';
import type { BenchContext, Benchmark, Figure } from '../benchmark.js';
import { openBareNotify } from '../baselines/bare-notify.js';
import { openGraphileWorker, openPgBoss } from '../baselines/job-queues.js';
import { originalDatabase } from '../baselines/original-database.js';
import { alternateSamples, latencyOf, quantilesOf, type Latency } from '../harness/latencies.js';
import { startServer, type BenchServer } from '../harness/server-process.js';
import { stampLatencies } from '../harness/stamped-stream.js';
import type { ServerSettings } from '../servers/protocol.js';

/** Between two events: about a hundred per second. */
const PACE_MS = 10;
/** The default without LISTEN. */
const POLL_MS = 250;
/** The longest a pg-boss worker sleeps, by its defaults. */
const PG_BOSS_POLL_MS = 2_000;
const MEASURED = 'from publish() to the frame in the client, the commit inside';

interface Size {
  readonly rounds: number;
  readonly events: number;
  /** Per round; pg-boss takes one per two seconds. */
  readonly pgBossJobs: number;
}

/** B4: how long an event of one replica takes to a subscriber on another one. */
export const wakeUp: Benchmark = {
  id: 'B4',
  title: 'wake-up: an event of replica A at a subscriber of replica B, 100 events per second',
  databases: ['postgresql', 'mysql', 'sqlite'],
  run: async (context) => {
    const size = sizeOf(context);
    return context.database === 'postgresql' ? onPostgres(context, size) : elsewhere(context, size);
  },
};

function sizeOf({ quick }: BenchContext): Size {
  return quick ? { rounds: 1, events: 40, pgBossJobs: 1 } : { rounds: 3, events: 400, pgBossJobs: 6 };
}

interface Pair {
  readonly a: BenchServer;
  readonly b: BenchServer;
}

async function startPair(context: BenchContext, settings: ServerSettings): Promise<Pair> {
  return { a: await startServer(context, settings), b: await startServer(context, settings) };
}

/** The arm of a turn on one server and its subscriber on another. */
function between(writer: BenchServer, reader: BenchServer, { events }: Size): () => Promise<number[]> {
  return () => stampLatencies({ writer: writer.port, reader: reader.port, chunks: events, paceMs: PACE_MS });
}

async function onPostgres(context: BenchContext, size: Size): Promise<readonly Figure[]> {
  const databaseUrl = await context.freshDatabase();
  const listen = await startPair(context, { kind: 'cluster', databaseUrl, hints: 'listen' });
  const poll = await startPair(context, { kind: 'cluster', databaseUrl, hints: 'poll' });
  const original = await startPair(context, {
    kind: 'original',
    databaseUrl: await originalDatabase(context),
  });
  const others = await openOthers(context);
  const load = { count: size.events, paceMs: PACE_MS };
  const samples = await alternateSamples({
    rounds: size.rounds,
    arms: {
      listen: between(listen.a, listen.b, size),
      direct: between(listen.a, listen.a, size),
      poll: between(poll.a, poll.b, size),
      original: between(original.a, original.b, size),
      notify: () => others.notify.latencies(load),
      graphile: () => others.graphile.latencies(load),
      pgBoss: () => pgBossLatencies(others.pgBoss, size.pgBossJobs),
    },
  });
  return postgresFigures({
    listen: latencyOf(samples.listen),
    direct: latencyOf(samples.direct),
    poll: latencyOf(samples.poll),
    original: latencyOf(samples.original),
    notify: latencyOf(samples.notify),
    graphile: latencyOf(samples.graphile),
    pgBoss: latencyOf(samples.pgBoss),
  });
}

type Queue = Awaited<ReturnType<typeof openPgBoss>>;

async function openOthers(context: BenchContext) {
  const url = await context.freshDatabase({ migrated: false });
  const notify = await openBareNotify(url);
  context.cleanUp(() => notify.close());
  const graphile = await openGraphileWorker(url);
  context.cleanUp(() => graphile.close());
  const pgBoss = await openPgBoss(url);
  context.cleanUp(() => pgBoss.close());
  return { notify, graphile, pgBoss };
}

/** Jobs at any time of the interval: one that follows another at once would always wait a whole one. */
async function pgBossLatencies(pgBoss: Queue, jobs: number): Promise<number[]> {
  const all: number[] = [];
  for (let job = 0; job < jobs; job += 1) {
    await pause((PG_BOSS_POLL_MS * (job + 0.5)) / jobs);
    all.push(...(await pgBoss.latencies({ count: 1, paceMs: 0 })));
  }
  return all;
}

type Ways = Readonly<
  Record<'listen' | 'direct' | 'poll' | 'original' | 'notify' | 'graphile' | 'pgBoss', Latency>
>;

function postgresFigures(ways: Ways): readonly Figure[] {
  const { listen, direct, poll, original } = ways;
  const listenTo = { ...told(listen, 'LISTEN, p50'), baseline: floorOf(ways) };
  return [
    { ...listenTo, bar: { op: '<=', limit: 6 } },
    { ...listenTo, figure: nameOf('LISTEN, p99'), value: listen.p99, bar: { op: '<=', limit: 25 } },
    { ...pollFigure(poll), bar: { op: '<=', limit: 0.7 } },
    told(direct, 'subscriber on the same replica, p50'),
    {
      ...ratio(original, listen, "the original's shape / ours with LISTEN"),
      bar: { op: '>=', limit: 30 },
      baseline: 'a poll per subscriber every 500 ms, the whole task rewritten per event',
    },
    { ...ratio(listen, ways.notify, 'ours with LISTEN / INSERT with NOTIFY, LISTEN and SELECT by bare pg') },
    {
      ...ratio(ways.graphile, listen, 'graphile-worker / ours with LISTEN'),
      baseline: 'graphile-worker 0.16.6, defaults (LISTEN, 1 job at a time), addJob to begin of the handler',
    },
    {
      ...ratio(ways.pgBoss, listen, 'pg-boss / ours with LISTEN'),
      baseline: 'pg-boss 10.4.2, defaults (a poll every 2 s), send to begin of the handler',
    },
  ];
}

function nameOf(what: string): string {
  return `event to frame, ${what}`;
}

function told(latency: Latency, what: string): Figure {
  return {
    figure: nameOf(what),
    unit: 'ms',
    value: latency.p50,
    bar: null,
    baseline: MEASURED,
    spread: latency.spread,
    detail: quantilesOf(latency),
  };
}

function floorOf({ notify, direct }: Ways): string {
  const [floor, here] = [notify.p50, direct.p50].map((value) => value.toPrecision(3));
  return `${MEASURED}; bare NOTIFY and SELECT ${floor} ms, same replica ${here} ms`;
}

function pollFigure(poll: Latency): Figure {
  return {
    ...told(poll, `poll every ${POLL_MS} ms, p50 / interval`),
    unit: 'ratio',
    value: poll.p50 / POLL_MS,
    baseline: 'by arithmetic 0.5, and the reading',
  };
}

function ratio(top: Latency, bottom: Latency, what: string): Figure {
  return {
    figure: `wake-up, p50: ${what}`,
    unit: 'ratio',
    value: top.p50 / bottom.p50,
    bar: null,
    baseline: 'same run, rounds alternating',
    spread: null,
    detail: { ...quantilesOf(top), 'ours or floor p50 ms': bottom.p50 },
  };
}

async function elsewhere(context: BenchContext, size: Size): Promise<readonly Figure[]> {
  const databaseUrl = await context.freshDatabase();
  const { a, b } = await startPair(context, { kind: 'cluster', databaseUrl });
  const samples = await alternateSamples({
    rounds: size.rounds,
    arms: { other: between(a, b, size), direct: between(a, a, size) },
  });
  const other = latencyOf(samples.other);
  const direct = told(latencyOf(samples.direct), 'subscriber on the same replica, p50');
  if (context.database === 'mysql') return [pollFigure(other), direct];
  return [told(other, 'change counter read every 25 ms, p50'), direct];
}
