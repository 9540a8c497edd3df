import type { BenchContext, Benchmark, Figure } from '../benchmark.js';
import { ORIGINAL_LEASES } from '../baselines/original.js';
import { migrateSdkStore } from '../baselines/sdk-store.js';
import { alternate, ratioOf } from '../harness/alternate.js';
import { startServer, type BenchServer } from '../harness/server-process.js';
import { median } from '../harness/statistics.js';
import { openRaw } from '@a2a-cluster/testing';
import { turnsPerSecond } from './http-turns.js';

/** B10a: one replica that keeps everything in memory, beside the SDK's in-memory store. */
export const inMemory: Benchmark = {
  id: 'B10a',
  title: 'streamed turns over HTTP, in memory, beside the SDK in memory',
  databases: ['sqlite'],
  run: async (context) => {
    const ours = await startServer(context, { kind: 'cluster-memory', databaseUrl: '' });
    const sdk = await startServer(context, { kind: 'sdk-memory', databaseUrl: '' });
    const figures: Figure[] = [];
    for (const events of [10, 100]) figures.push(await compareInMemory(context, { ours, sdk, events }));
    return figures;
  },
};

async function compareInMemory(
  context: BenchContext,
  parts: { readonly ours: BenchServer; readonly sdk: BenchServer; readonly events: number },
): Promise<Figure> {
  const { ours, sdk, events } = parts;
  const load = { events, turns: context.quick ? 8 : 8_000 / events, atATime: 8 };
  const numbers = await alternate({
    rounds: context.quick ? 2 : 11,
    warmUp: context.quick ? 1 : 3,
    arms: { ours: () => turnsPerSecond(ours, load), sdk: () => turnsPerSecond(sdk, load) },
  });
  const { value, spread } = ratioOf(numbers.ours, numbers.sdk);
  return {
    figure: `turns per second of ${events} streamed events, in memory: ours / SDK`,
    unit: 'ratio',
    value,
    bar: { op: '>=', limit: 0.95 },
    baseline: 'DefaultRequestHandler over InMemoryTaskStore, no database on either side',
    spread,
    detail: { 'ours/s': median(numbers.ours), 'SDK/s': median(numbers.sdk) },
  };
}

/** B10b: turns beside the shape that cluster modes begin with. */
export const originalTurns: Benchmark = {
  id: 'B10b',
  title: "streamed turns over HTTP, beside the original's shape",
  databases: ['postgresql'],
  run: async (context) => {
    const originalUrl = await context.freshDatabase({ migrated: false });
    await migrateSdkStore(originalUrl);
    const raw = await openRaw(originalUrl);
    await raw.run(ORIGINAL_LEASES);
    await raw.close();
    const ours = await startServer(context, { kind: 'cluster', databaseUrl: await context.freshDatabase() });
    const original = await startServer(context, { kind: 'original', databaseUrl: originalUrl });
    const load = { events: 100, turns: context.quick ? 4 : 24, atATime: 8 };
    const numbers = await alternate({
      rounds: context.quick ? 2 : 7,
      arms: { ours: () => turnsPerSecond(ours, load), original: () => turnsPerSecond(original, load) },
    });
    const { value, spread } = ratioOf(numbers.ours, numbers.original);
    return [
      {
        figure: "turns per second of 100 streamed events: ours / the original's shape",
        unit: 'ratio',
        value,
        bar: null,
        baseline: 'whole task rewritten per event, one lease statement per task',
        spread,
        detail: { 'ours/s': median(numbers.ours), 'original/s': median(numbers.original) },
      },
    ];
  },
};
