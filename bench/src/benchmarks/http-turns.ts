import type { BenchContext, Benchmark, Figure } from '../benchmark.js';
import { migrateSdkStore } from '../baselines/sdk-store.js';
import { alternate, ratioOf } from '../harness/alternate.js';
import { streamTurn } from '../harness/client.js';
import { startServer, type BenchServer } from '../harness/server-process.js';
import { median } from '../harness/statistics.js';
import { timeMs } from '../harness/time.js';

interface Load {
  /** Events of one turn. */
  readonly events: number;
  /** Turns of one round, and how many of them at a time. */
  readonly turns: number;
  readonly atATime: number;
  readonly rounds: number;
  readonly bar: number;
}

/** B1b: streamed turns over HTTP beside the SDK with its own store, on the same database. */
export const httpTurns: Benchmark = {
  id: 'B1b',
  title: 'streamed turns over HTTP, beside the SDK with its DatabaseTaskStore',
  databases: ['postgresql'],
  run: async (context) => {
    const sdkUrl = await context.freshDatabase({ migrated: false });
    await migrateSdkStore(sdkUrl);
    const ours = await startServer(context, { kind: 'cluster', databaseUrl: await context.freshDatabase() });
    const sdk = await startServer(context, { kind: 'sdk', databaseUrl: sdkUrl });
    const figures: Figure[] = [];
    for (const load of loadsOf(context)) figures.push(await compare({ ours, sdk, load }));
    return figures;
  },
};

function loadsOf({ quick }: BenchContext): readonly Load[] {
  if (quick) {
    return [
      { events: 100, turns: 4, atATime: 2, rounds: 2, bar: 1.5 },
      { events: 300, turns: 1, atATime: 1, rounds: 1, bar: 5 },
    ];
  }
  return [
    { events: 100, turns: 40, atATime: 8, rounds: 9, bar: 1.5 },
    { events: 2_000, turns: 2, atATime: 2, rounds: 5, bar: 5 },
  ];
}

async function compare(parts: {
  readonly ours: BenchServer;
  readonly sdk: BenchServer;
  readonly load: Load;
}): Promise<Figure> {
  const { ours, sdk, load } = parts;
  const numbers = await alternate({
    rounds: load.rounds,
    arms: { ours: () => turnsPerSecond(ours, load), sdk: () => turnsPerSecond(sdk, load) },
  });
  const { value, spread } = ratioOf(numbers.ours, numbers.sdk);
  return {
    figure: `turns per second of ${load.events} streamed events, ${load.atATime} at a time: ours / SDK`,
    unit: 'ratio',
    value,
    bar: { op: '>=', limit: load.bar },
    baseline: 'DefaultRequestHandler over DatabaseTaskStore, same database, same agent',
    spread,
    detail: { 'ours/s': median(numbers.ours), 'SDK/s': median(numbers.sdk) },
  };
}

/** Runs the turns, and checks that every event of each arrived. */
export async function turnsPerSecond(
  server: BenchServer,
  load: Pick<Load, 'events' | 'turns' | 'atATime'>,
): Promise<number> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < load.turns) {
      next += 1;
      const frames = await streamTurn({ port: server.port, script: { events: load.events } }).ended;
      if (frames !== load.events) throw new Error(`${frames} events arrived instead of ${load.events}`);
    }
  };
  const tookMs = await timeMs(() => Promise.all(Array.from({ length: load.atATime }, worker)));
  return (load.turns * 1000) / tookMs;
}
