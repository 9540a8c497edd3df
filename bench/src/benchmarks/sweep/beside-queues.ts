import type { BenchContext, Figure } from '../../benchmark.js';
import { openGraphileWorker, openPgBoss, type AbandonedJobs } from '../../baselines/abandoned-jobs.js';
import { alternate, ratioOf } from '../../harness/alternate.js';
import { median } from '../../harness/statistics.js';
import { timeMs } from '../../harness/time.js';

/** How two job queues take back as many jobs of a dead worker, each by a call of its own. PostgreSQL. */
export async function besideQueues(
  context: BenchContext,
  ours: { readonly turns: number; readonly rounds: number; sweepMs(): Promise<number> },
): Promise<readonly Figure[]> {
  const { turns, rounds, sweepMs } = ours;
  const empty = (): Promise<string> => context.freshDatabase({ migrated: false });
  const boss = await openPgBoss(await empty());
  context.cleanUp(() => boss.close());
  const graphile = await openGraphileWorker(await empty());
  context.cleanUp(() => graphile.close());
  const numbers = await alternate({
    rounds,
    arms: {
      ours: sweepMs,
      boss: () => recoveryMs(boss, turns),
      graphile: () => recoveryMs(graphile, turns),
    },
  });
  const figureOf = (queue: AbandonedJobs, times: readonly number[]): Figure => ({
    figure: `${turns} jobs of a dead worker: ${queue.name} / our sweep`,
    unit: 'ratio',
    ...ratioOf(times, numbers.ours),
    bar: null,
    baseline: `not the same work: ${queue.differs}`,
    detail: { 'theirs ms': median(times), 'ours ms': median(numbers.ours) },
  });
  return [figureOf(boss, numbers.boss), figureOf(graphile, numbers.graphile)];
}

async function recoveryMs(queue: AbandonedJobs, count: number): Promise<number> {
  await queue.make(count);
  const tookMs = await timeMs(() => queue.recover());
  await queue.expectRecovered(count);
  return tookMs;
}
