import { createTestDatabase, type TestProvider } from '@a2a-cluster/testing';
import type { BenchContext, Benchmark, Figure } from './benchmark.js';
import { profiled } from './harness/profile.js';
import type { Report, Result } from './report/json.js';

/** How benchmarks are run. */
export interface RunOptions {
  readonly benchmarks: readonly Benchmark[];
  readonly databases: readonly TestProvider[];
  readonly quick: boolean;
  readonly minutes: number | undefined;
  readonly profileFolder: string | null;
  say(text: string): void;
}

/** Runs them one after the other on each of their databases. One that fails does not stop the others. */
export async function runBenchmarks(options: RunOptions): Promise<Report> {
  const results: Result[] = [];
  const failures: { name: string; database: TestProvider; error: string }[] = [];
  for (const benchmark of options.benchmarks) {
    for (const database of benchmark.databases.filter((name) => options.databases.includes(name))) {
      const { id: name, title } = benchmark;
      options.say(`${name} ${title} (${database})`);
      try {
        const figures = await runOne(benchmark, database, options);
        results.push(...figures.map((figure) => ({ ...figure, name, database })));
        for (const figure of figures) options.say(`  ${lineOf(figure)}`);
      } catch (error) {
        const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
        options.say(`  failed: ${text}`);
        failures.push({ name, database, error: text.split('\n')[0] ?? text });
      }
    }
  }
  return { results, failures, quick: options.quick };
}

async function runOne(
  benchmark: Benchmark,
  database: TestProvider,
  options: RunOptions,
): Promise<readonly Figure[]> {
  const cleanUps: (() => Promise<void> | void)[] = [];
  const cleanUp: BenchContext['cleanUp'] = (work) => void cleanUps.unshift(work);
  const context: BenchContext = {
    database,
    quick: options.quick,
    minutes: options.minutes,
    profileFolder: options.profileFolder,
    cleanUp,
    say: (text) => options.say(`  ${text}`),
    freshDatabase: async ({ migrated = true } = {}) => {
      const fresh = await createTestDatabase({ provider: database, migrated });
      cleanUp(() => fresh.drop());
      return fresh.url;
    },
  };
  try {
    const { profileFolder } = options;
    const run = (): Promise<readonly Figure[]> => benchmark.run(context);
    if (profileFolder === null) return await run();
    return await profiled({ folder: profileFolder, name: `${benchmark.id}-${database}`, work: run });
  } finally {
    for (const work of cleanUps) await work();
  }
}

function lineOf({ figure, value, unit, bar, baseline }: Figure): string {
  const limit = bar === null ? '' : ` (bar ${bar.op} ${bar.limit})`;
  return `${figure}: ${value.toPrecision(3)} ${unit}${limit}; ${baseline}`;
}
