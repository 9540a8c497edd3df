import type { Clock } from '@a2a-cluster/core';

/** How {@link cachedReading} keeps what it has read. */
export interface CachedReadingOptions<T> {
  readonly clock: Clock;
  /** How old an answer may be, by the monotonic clock. */
  readonly maxAgeMs: number;
  /** One statement to the database, or several. */
  read(): Promise<T>;
}

/**
 * Reads at most once per `maxAgeMs`, however often and by how many it is asked: every replica may be scraped by every
 * Prometheus there is. Those who ask while it reads wait for that answer; a failure is not kept.
 */
export function cachedReading<T>({ clock, maxAgeMs, read }: CachedReadingOptions<T>): () => Promise<T> {
  let kept: { readonly atMs: number; readonly answer: Promise<T> } | null = null;
  return () => {
    const nowMs = clock.monotonicMs();
    if (kept !== null && nowMs - kept.atMs < maxAgeMs) return kept.answer;
    const answer = read();
    const mine = { atMs: nowMs, answer };
    kept = mine;
    answer.catch(() => {
      if (kept === mine) kept = null;
    });
    return answer;
  };
}
