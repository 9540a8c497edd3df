import { SMALL_GROWTH, type GrowthSize } from '@a2a-cluster/testing';
import type { BenchContext, Benchmark, Figure } from '../benchmark.js';
import { stepsOf, type Step } from '../growth/arms.js';
import { openGrown, type Grown } from '../growth/grown.js';
import { alternate, ratioOf } from '../harness/alternate.js';
import { median } from '../harness/statistics.js';
import { samplesMs } from '../harness/time.js';

/** B8: what a million ended tasks cost. */
export const growth: Benchmark = {
  id: 'B8',
  title: 'growth: a million ended tasks beside twenty thousand',
  databases: ['postgresql', 'mysql', 'sqlite'],
  onDemand: true,
  run: async (context) => {
    const { small, large } = sizesOf(context);
    const [few, many] = [await openGrown(context, small), await openGrown(context, large)];
    return [plansFigure(few), plansFigure(many), ...(await compare(context, few, many))];
  },
};

function sizesOf({ quick }: BenchContext): { readonly small: GrowthSize; readonly large: GrowthSize } {
  const small = { ...SMALL_GROWTH, eventsPerTask: 5 };
  return { small, large: { ...small, endedTasks: quick ? 60_000 : 1_000_000 } };
}

function plansFigure({ size, plans, wrong }: Grown): Figure {
  const list = [...new Set(wrong.map(({ call }) => call))].join('; ');
  return {
    figure: `plans of ${size.endedTasks} tasks that read too much`,
    unit: 'plans',
    value: wrong.length,
    bar: { op: '<=', limit: 0 },
    baseline: `${plans.length} plans of every statement; the rules are those of the tests`,
    spread: null,
    ...(list === '' ? {} : { detail: { wrong: list } }),
  };
}

async function compare(context: BenchContext, few: Grown, many: Grown): Promise<Figure[]> {
  const [onSmall, onLarge] = [await stepsOf(few), await stepsOf(many)];
  const figures: Figure[] = [];
  for (const [index, large] of onLarge.entries()) {
    const small = onSmall[index];
    if (small) figures.push(await compareStep(context, small, large));
  }
  return figures;
}

async function compareStep({ quick }: BenchContext, small: Step, large: Step): Promise<Figure> {
  // What grows with its matches is slow enough to be measured by few.
  const each = quick || large.most === null ? 5 : 40;
  let run = 0;
  const numbers = await alternate({
    rounds: quick ? 3 : 9,
    arms: {
      small: async () => median(await samplesMs(each, () => small.run((run += 1)))),
      large: async () => median(await samplesMs(each, () => large.run((run += 1)))),
    },
  });
  const { value, spread } = ratioOf(numbers.large, numbers.small);
  return {
    figure: `${large.name}, p50: large / small`,
    unit: 'ratio',
    value,
    // Small sizes are measured too little for a verdict.
    bar: quick || large.most === null ? null : { op: '<=', limit: large.most },
    baseline: 'the same call on 20 000 tasks',
    spread,
    detail: { 'small ms': median(numbers.small), 'large ms': median(numbers.large) },
  };
}
