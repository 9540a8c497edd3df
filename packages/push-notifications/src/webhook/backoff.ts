/** How the waits between attempts grow. */
export interface BackoffOptions {
  /** The upper end of the first wait, in milliseconds. Default 1 000. */
  readonly firstMs?: number;
  /** The longest wait, in milliseconds. Default 300 000. */
  readonly capMs?: number;
}

/** What {@link retryDelayMs} needs. */
export interface RetryDelay {
  /** Attempts that failed in a row, 1 or more. */
  readonly attempts: number;
  /** The wait that the receiver asked for; null: none. */
  readonly retryAfterMs: number | null;
  /** From 0 up to, not including, 1. */
  readonly random: () => number;
  readonly options?: BackoffOptions;
}

/** How long a notification is tried, in milliseconds, where nothing else is said: a day. */
export const DEFAULT_MAX_AGE_MS = 24 * 3_600_000;

/**
 * The wait before the next attempt, in whole milliseconds. Its upper end starts at `firstMs` and doubles with every
 * attempt up to `capMs`; the wait lies at random in its upper half, so that those that failed together do not come
 * back together. Never less than the receiver asked for, even over `capMs`.
 */
export function retryDelayMs({ attempts, retryAfterMs, random, options = {} }: RetryDelay): number {
  const { firstMs = 1_000, capMs = 300_000 } = options;
  const topMs = Math.min(capMs, firstMs * 2 ** Math.max(attempts - 1, 0));
  const waitMs = Math.floor(topMs / 2 + (random() * topMs) / 2);
  return Math.max(waitMs, Math.ceil(retryAfterMs ?? 0));
}

/** Whether a notification that has failed for so long is given up. Both in milliseconds; default of the age: a day. */
export function isTooOld(age: { readonly failingForMs: number; readonly maxAgeMs?: number }): boolean {
  return age.failingForMs >= (age.maxAgeMs ?? DEFAULT_MAX_AGE_MS);
}
