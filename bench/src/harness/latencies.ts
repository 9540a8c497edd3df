import { quantile, spreadOf, type Spread } from './statistics.js';

/** Samples of several things, taken round by round. */
export type Samples<Arm extends string> = Readonly<Record<Arm, readonly number[]>>;

/**
 * Takes the samples of each arm, one arm after the other, round by round, every second round in the reverse order.
 * Those of a first round are dropped: caches, plans and the JIT are warm after it.
 */
export async function alternateSamples<Arm extends string>(options: {
  readonly rounds: number;
  readonly arms: Readonly<Record<Arm, () => Promise<readonly number[]>>>;
}): Promise<Samples<Arm>> {
  const { rounds, arms } = options;
  const names = Object.keys(arms) as Arm[];
  const samples = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Arm, number[]>;
  for (let round = -1; round < rounds; round += 1) {
    for (const name of round % 2 === 0 ? names : [...names].reverse()) {
      const taken = await arms[name]();
      if (round < 0) continue;
      for (const sample of taken) samples[name].push(sample);
    }
  }
  return samples;
}

/** The usual quantiles of latencies, with their spread. */
export interface Latency {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly spread: Spread;
}

/** Sums latencies up. @throws RangeError without samples. */
export function latencyOf(samples: readonly number[]): Latency {
  const at = (share: number): number => quantile(samples, share);
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), spread: spreadOf(samples) };
}

/** The quantiles as details of a figure. */
export function quantilesOf(latency: Latency): Readonly<Record<string, number>> {
  const { p50, p95, p99 } = latency;
  return { 'p50 ms': p50, 'p95 ms': p95, 'p99 ms': p99, samples: latency.spread.samples };
}
