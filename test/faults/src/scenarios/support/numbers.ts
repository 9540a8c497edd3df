/** The value below which this share of them lies; 0 of none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** The largest; 0 of none. */
export function largest(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 0);
}
