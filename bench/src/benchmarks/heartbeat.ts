import type { BenchContext, Benchmark, Figure } from '../benchmark.js';
import { beatPastLocks, beatStatements, replicaStatements } from './heartbeat/counted.js';
import { beatRowVersions } from './heartbeat/row-versions.js';
import { beatTimes, type BeatLoad } from './heartbeat/time.js';

/** B2: renewals of many leases, beside one bare UPDATE for all and beside one statement per task. */
export const heartbeat: Benchmark = {
  id: 'B2',
  title: 'renewal of 10 to 10 000 leases, beside one bare UPDATE and one renewal per task',
  databases: ['sqlite', 'postgresql', 'mysql'],
  run: async (context) => {
    const figures: Figure[] = [];
    for (const load of loadsOf(context)) figures.push(...(await beatTimes(context, load)));
    if (context.database !== 'sqlite') figures.push(...(await counted(context)));
    if (context.database === 'postgresql') {
      const load = context.quick ? { beats: 5, leases: 200 } : { beats: 20, leases: 1_000 };
      figures.push(...(await beatRowVersions(context, load)));
    }
    return figures;
  },
};

function loadsOf({ quick }: BenchContext): readonly BeatLoad[] {
  if (quick) {
    return [
      { leases: 10, rounds: 5, slowRounds: 2 },
      { leases: 200, rounds: 5, slowRounds: 1 },
    ];
  }
  return [
    { leases: 10, rounds: 60, slowRounds: 15 },
    { leases: 100, rounds: 60, slowRounds: 9 },
    { leases: 1_000, rounds: 40, slowRounds: 5 },
    { leases: 10_000, rounds: 11, slowRounds: 1 },
  ];
}

async function counted(context: BenchContext): Promise<readonly Figure[]> {
  const leases = context.quick ? 200 : 1_000;
  const figures = [
    await beatStatements(context, leases),
    await beatPastLocks(context, { leases, locked: 5 }),
  ];
  for (const replicas of context.quick ? [1, 3] : [1, 3, 10])
    figures.push(await replicaStatements(context, { replicas, leases: context.quick ? 20 : 100 }));
  return figures;
}
