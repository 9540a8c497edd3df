import type { BenchContext, Benchmark, Figure } from '../benchmark.js';
import { alternate, ratioOf, type Rounds } from '../harness/alternate.js';
import { latencyOf, quantilesOf, type Latency } from '../harness/latencies.js';
import { startSink } from '../harness/sink.js';
import { startServer } from '../harness/server-process.js';
import { stampLatencies } from '../harness/stamped-stream.js';
import { quantile } from '../harness/statistics.js';

/** Between two events: about a hundred per second. */
const PACE_MS = 10;
type Arm = 'without' | 'answers' | 'hangs';

interface Size {
  readonly rounds: number;
  /** Per round and arm. */
  readonly events: number;
}

/** B11b: what a turn of the same replica feels of its webhook. */
export const pushedTurns: Benchmark = {
  id: 'B11b',
  title: 'event to frame on the same replica: without a webhook, with one that answers, with one that hangs',
  databases: ['postgresql', 'mysql', 'sqlite'],
  run: async (context) => {
    const size = sizeOf(context);
    const answering = await startSink(context, { ports: 1 });
    const hanging = await startSink(context, { ports: 1, hangs: true });
    const samples: Record<Arm, number[][]> = { without: [], answers: [], hangs: [] };
    const p99s = await alternate({
      rounds: size.rounds,
      arms: {
        without: await armOf(context, { size, samples: samples.without, webhook: undefined }),
        answers: await armOf(context, { size, samples: samples.answers, webhook: answering.origins[0] }),
        hangs: await armOf(context, { size, samples: samples.hangs, webhook: hanging.origins[0] }),
      },
    });
    const { accepted, repeated, early } = await answering.counts();
    if (accepted === 0 || repeated.length > 0 || early > 0)
      throw new Error(`${accepted} notifications came, ${repeated.length + early} of them wrongly`);
    // Without those of the warm-up.
    const kept = (arm: Arm): number[] => samples[arm].slice(-size.rounds).flat();
    return figuresOf(p99s, kept);
  },
};

function sizeOf({ quick }: BenchContext): Size {
  return quick ? { rounds: 1, events: 40 } : { rounds: 21, events: 200 };
}

/**
 * A replica with a database of its own, so that what one arm's webhook leaves behind is no other's. Gives the p99 of
 * one round.
 */
async function armOf(
  context: BenchContext,
  arm: { readonly size: Size; readonly samples: number[][]; readonly webhook: string | undefined },
): Promise<() => Promise<number>> {
  const { size, samples, webhook } = arm;
  const server = await startServer(context, {
    ...{ kind: 'cluster', databaseUrl: await context.freshDatabase(), push: true },
  });
  const { port } = server;
  return async () => {
    const taken = await stampLatencies({
      ...{ writer: port, reader: port, chunks: size.events, paceMs: PACE_MS },
      webhook: webhook === undefined ? undefined : `${webhook}/hook`,
    });
    samples.push(taken);
    return quantile(taken, 0.99);
  };
}

function figuresOf(p99s: Rounds<Arm>, samples: (arm: Arm) => number[]): readonly Figure[] {
  const without = latencyOf(samples('without'));
  return [
    { arm: 'answers' as const, what: 'a webhook that answers' },
    { arm: 'hangs' as const, what: 'a webhook that hangs' },
  ].map(({ arm, what }) =>
    figureOf({ what, with: latencyOf(samples(arm)), without, ...ratioOf(p99s[arm], p99s.without) }),
  );
}

function figureOf(of: {
  readonly what: string;
  readonly with: Latency;
  readonly without: Latency;
  readonly value: number;
  readonly spread: Figure['spread'];
}): Figure {
  const { what, without, value, spread } = of;
  return {
    figure: `event to frame on the same replica, p99: turns with ${what} / without one`,
    unit: 'ratio',
    value,
    spread,
    bar: { op: '<=', limit: 1.2 },
    baseline: `turns of 100 events per second without a webhook, p50 ${without.p50.toPrecision(3)} ms, p99 ${without.p99.toPrecision(3)} ms; the median of the rounds' ratios`,
    detail: {
      ...quantilesOf(of.with),
      'p50 / p50 without': of.with.p50 / without.p50,
      'p99 of all samples / p99 without': of.with.p99 / without.p99,
    },
  };
}
