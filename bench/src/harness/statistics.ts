/** How far values lie apart. */
export interface Spread {
  readonly min: number;
  readonly max: number;
  readonly samples: number;
}

/**
 * The value below which a share of the samples lies, by the nearest rank.
 * @param share from 0 to 1; 0.5 is the median.
 * @throws RangeError without samples.
 */
export function quantile(samples: readonly number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const rank = Math.max(1, Math.ceil(share * sorted.length));
  const value = sorted[rank - 1];
  if (value === undefined) throw new RangeError('a quantile of no samples');
  return value;
}

/** The middle one; of an even number the mean of the two. */
export function median(samples: readonly number[]): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.floor((sorted.length - 1) / 2)];
  if (upper === undefined || lower === undefined) throw new RangeError('a median of no samples');
  return (upper + lower) / 2;
}

/** Smallest and largest. */
export function spreadOf(samples: readonly number[]): Spread {
  return {
    min: samples.reduce((a, b) => Math.min(a, b), Infinity),
    max: samples.reduce((a, b) => Math.max(a, b), -Infinity),
    samples: samples.length,
  };
}
