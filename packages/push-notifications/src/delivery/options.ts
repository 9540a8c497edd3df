import { ClusterError } from '@a2a-cluster/core';

/** Limits and times of push delivery. Every time is in milliseconds. */
export interface PushDeliveryLimits {
  /** Attempts under way at once on this replica. Default 64. */
  readonly concurrency?: number;
  /** Of them, to one origin (scheme, host and port). Default 16. An origin that failed last gets one. */
  readonly concurrencyPerOrigin?: number;
  /** How long an attempt may take, connecting included. Default 10 000. */
  readonly attemptTimeoutMs?: number;
  /**
   * How long a claim on a config lives without a sign of its holder: after a replica's death others go on after at
   * most this and a poll. At least twice {@link attemptTimeoutMs}. Default 30 000.
   */
  readonly claimTtlMs?: number;
  /**
   * The longest wait between two looks for deliveries that are due and nobody's, twice that after a look that found
   * none. Default 5 000.
   */
  readonly pollIntervalMs?: number;
  /** The pause after the first failed attempt of an event; it doubles with each. Default 1 000. */
  readonly firstRetryMs?: number;
  /** The longest of these pauses. Default 300 000. */
  readonly longestRetryMs?: number;
  /** An event whose first attempt failed longer ago is given up: a dead letter. Default 24 hours. */
  readonly maxAgeMs?: number;
}

/** {@link PushDeliveryLimits} with every value decided. */
export type ResolvedDeliveryLimits = Required<PushDeliveryLimits>;

const DEFAULTS: ResolvedDeliveryLimits = {
  concurrency: 64,
  concurrencyPerOrigin: 16,
  attemptTimeoutMs: 10_000,
  claimTtlMs: 30_000,
  pollIntervalMs: 5_000,
  firstRetryMs: 1_000,
  longestRetryMs: 300_000,
  maxAgeMs: 24 * 60 * 60 * 1_000,
};

/**
 * Fills in the defaults.
 * @throws ClusterError `CONFIG_INVALID` naming every value that is not a whole number above 0, or a claim that could
 * end during an attempt.
 */
export function resolveDeliveryLimits(limits: PushDeliveryLimits = {}): ResolvedDeliveryLimits {
  const given = Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
  const resolved: ResolvedDeliveryLimits = { ...DEFAULTS, ...given };
  const wrong = Object.entries(resolved)
    .filter(([, value]) => !(Number.isInteger(value) && value > 0))
    .map(([name, value]) => `push.${name} is ${String(value)}, it must be a whole number above 0`);
  if (wrong.length === 0 && resolved.claimTtlMs < 2 * resolved.attemptTimeoutMs)
    wrong.push(
      `push.claimTtlMs is ${resolved.claimTtlMs}, it must be at least twice push.attemptTimeoutMs (${resolved.attemptTimeoutMs})`,
    );
  if (wrong.length > 0) throw new ClusterError('CONFIG_INVALID', wrong.join('; '));
  return resolved;
}
