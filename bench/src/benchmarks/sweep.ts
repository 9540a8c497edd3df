import { setTimeout as pause } from 'node:timers/promises';
import type { BenchContext, Benchmark, Figure } from '../benchmark.js';
import { alternate, ratioOf } from '../harness/alternate.js';
import { median, quantile, spreadOf } from '../harness/statistics.js';
import { timeMs } from '../harness/time.js';
import { openAbandonedTurns, type AbandonedTurns } from './sweep/abandoned-turns.js';
import { openBareSweep, type BareSweep } from './sweep/bare-sweep.js';
import { besideQueues } from './sweep/beside-queues.js';
import { createBystander } from './sweep/bystander.js';
import { openReplicaSweeper, type ReplicaSweeper } from './sweep/replica-sweeper.js';

interface Size {
  readonly turns: number;
  readonly rounds: number;
}

interface Arms extends Size {
  readonly abandoned: AbandonedTurns;
  readonly sweepers: readonly [ReplicaSweeper, ...ReplicaSweeper[]];
  readonly bare: BareSweep;
}

/** Replicas that notice the death of another at once. */
const MANY = 8;

/** B3: the end of 10 000 turns whose replica died. */
export const sweep: Benchmark = {
  id: 'B3',
  title: 'sweep of 10 000 expired leases, beside the bare statement, by one sweeper and by eight',
  databases: ['sqlite', 'postgresql', 'mysql'],
  run: async (context) => {
    // Timers of the product keep no process alive, and SQLite has no sockets that would.
    const alive = setInterval(() => {}, 1_000);
    context.cleanUp(() => clearInterval(alive));
    const arms = await open(context, sizeOf(context));
    const figures = [...(await compare(context, arms)), await besides(arms)];
    if (context.database !== 'postgresql') return figures;
    const sweepMs = (): Promise<number> => sweepTime(arms, [arms.sweepers[0]]);
    return [...figures, ...(await besideQueues(context, { ...sizeOf(context), sweepMs }))];
  },
};

function sizeOf({ quick, database }: BenchContext): Size {
  if (quick) return { turns: 600, rounds: 2 };
  return { turns: 10_000, rounds: database === 'postgresql' ? 7 : 3 };
}

async function open(context: BenchContext, size: Size): Promise<Arms> {
  const url = await context.freshDatabase();
  const abandoned = await openAbandonedTurns(context.database, url);
  context.cleanUp(() => abandoned.close());
  const first = await openReplicaSweeper(context, { url, holder: 'replica-0', poolSize: 10 });
  const sweepers: [ReplicaSweeper, ...ReplicaSweeper[]] = [first];
  for (let at = 1; at < MANY; at += 1)
    sweepers.push(await openReplicaSweeper(context, { url, holder: `replica-${at}`, poolSize: 2 }));
  const bare = await openBareSweep(first.database, url);
  context.cleanUp(() => bare.close());
  return { ...size, abandoned, sweepers, bare };
}

async function compare(context: BenchContext, arms: Arms): Promise<readonly Figure[]> {
  const { turns, rounds, sweepers, bare } = arms;
  const numbers = await alternate({
    rounds,
    arms: {
      one: () => sweepTime(arms, [sweepers[0]]),
      bare: () => measured(arms, () => bare.all()),
      many: () => sweepTime(arms, sweepers),
    },
  });
  const barred = context.database === 'postgresql';
  const oneMs = median(numbers.one);
  return [
    {
      figure: `sweep of ${turns} expired leases: ours / bare`,
      unit: 'ratio',
      ...ratioOf(numbers.one, numbers.bare),
      bar: barred ? { op: '<=', limit: 1.5 } : null,
      baseline: bare.says,
      detail: { 'ours ms': oneMs, 'bare ms': median(numbers.bare), 'turns/s': (turns * 1000) / oneMs },
    },
    {
      figure: `sweep of ${turns} expired leases: ${MANY} sweepers / one`,
      unit: 'ratio',
      ...ratioOf(numbers.many, numbers.one),
      bar: barred ? { op: '<=', limit: 2 } : null,
      baseline: 'one sweeper, alternating; all in this process, each with connections of its own',
      detail: { [`${MANY} ms`]: median(numbers.many), 'one ms': oneMs },
    },
  ];
}

/** Each round has turns of its own, and is worth nothing unless each of them ended exactly once. */
async function measured({ abandoned, turns }: Arms, work: () => Promise<unknown>): Promise<number> {
  await abandoned.make(turns);
  const tookMs = await timeMs(work);
  await abandoned.expectEnded(turns);
  return tookMs;
}

async function sweepTime(arms: Arms, sweepers: readonly ReplicaSweeper[]): Promise<number> {
  const { abandoned, turns } = arms;
  await abandoned.make(turns);
  const sweeps = await Promise.all(sweepers.map((sweeper) => sweeper.ready()));
  const tookMs = await timeMs(() => Promise.all(sweeps.map((all) => all())));
  await abandoned.expectEnded(turns);
  return tookMs;
}

/** What a turn of the living feels of it, on the connections of the replica that sweeps. */
async function besides(arms: Arms): Promise<Figure> {
  const { turns, rounds, sweepers, abandoned } = arms;
  const [{ database, ready }] = sweepers;
  const bystander = createBystander(database);
  const during: number[] = [];
  const alone: number[] = [];
  const worst: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await abandoned.make(turns);
    const all = await ready();
    const tookMs = await timeMs(async () => {
      const samples = await bystander.during(all);
      during.push(...samples);
      worst.push(quantile(samples, 0.99));
    });
    alone.push(...(await bystander.during(() => pause(tookMs))));
  }
  return {
    figure: `commit of a living turn while ${turns} expired leases are swept beside it, p99`,
    unit: 'ms',
    value: quantile(during, 0.99),
    spread: spreadOf(worst),
    bar: null,
    baseline: `the same for as long with nothing to sweep: ${quantile(alone, 0.99).toPrecision(3)} ms`,
    detail: { 'p50 ms': median(during), 'p50 ms alone': median(alone), commits: during.length },
  };
}
