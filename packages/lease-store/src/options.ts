import { ClusterError } from '@a2a-cluster/core';

/** How long a lease lives after a renewal. Shorter: dead turns end sooner, and a shorter outage kills live ones. */
export const DEFAULT_TTL_MS = 15_000;

/** The longest default interval between beats. Longer: fewer statements, and a cancel mark is seen later. */
export const DEFAULT_HEARTBEAT_MS = 5_000;

/**
 * The least default margin: the time between the holder's own deadline and the expiry by the database. Less: agent
 * code may still run when another replica has taken the task. The default is a tenth of the TTL, if that is more.
 */
export const DEFAULT_LEAST_MARGIN_MS = 1_000;

/** The default renewal timeout as a share of the TTL. More: a hanging beat leaves no time for a second one. */
export const DEFAULT_RENEWAL_SHARE = 1 / 5;

/** The longest default interval between sweeps. Longer: a database step or outage is noticed later. */
export const DEFAULT_SWEEP_INTERVAL_MS = 5_000;

/** The default cancel grace in heartbeats. Less than 1: a cancel without a hint is over before the holder saw it. */
export const DEFAULT_CANCEL_GRACE_BEATS = 2;

/** The jitter of the sweep interval, as a share of it: replicas that started together do not sweep together. */
export const SWEEP_JITTER = 0.2;

/** What can be set about leases; all in milliseconds, whole and positive (protocol 11). */
export interface LeaseOptions {
  /** How long a lease lives after a renewal. Default {@link DEFAULT_TTL_MS}. */
  readonly ttlMs?: number | undefined;
  /** From one beat to the next. Default: as often as leaves room for two, at most {@link DEFAULT_HEARTBEAT_MS}. */
  readonly heartbeatMs?: number | undefined;
  /** How long before the expiry the holder gives up by itself. Default: max(1 s, TTL / 10). */
  readonly marginMs?: number | undefined;
  /** How long one beat may take before it counts as failed. Default: TTL / 5. */
  readonly renewalTimeoutMs?: number | undefined;
  /** The longest wait between two sweeps, before jitter. Default: min(5 s, TTL / 3). */
  readonly sweepIntervalMs?: number | undefined;
  /** From the mark of a cancel to the CANCELED that does not wait for the agent. Default: two heartbeats. */
  readonly cancelGraceMs?: number | undefined;
}

/** {@link LeaseOptions} with every value known and every relation checked. */
export interface ResolvedLeaseOptions {
  readonly ttlMs: number;
  readonly heartbeatMs: number;
  readonly marginMs: number;
  readonly renewalTimeoutMs: number;
  readonly sweepIntervalMs: number;
  readonly cancelGraceMs: number;
}

/**
 * Fills in the defaults and checks that the values add up (protocol 11): a turn must outlive one failed beat, and a
 * dead one must be found within a TTL.
 *
 * @throws `ClusterError` `CONFIG_INVALID` that lists every violation with the numbers on both sides; the list is
 * also in `details.violations`.
 */
export function resolveLeaseOptions(options: LeaseOptions = {}): ResolvedLeaseOptions {
  const resolved = withDefaults(options);
  const violations = [...malformed(options), ...contradictions(resolved)];
  if (violations.length === 0) return resolved;
  throw new ClusterError('CONFIG_INVALID', `the lease options do not add up: ${violations.join('; ')}`, {
    details: { violations },
  });
}

/**
 * The longest blackout of the database that a live turn survives, called S in the protocol (5): the TTL without the
 * margin, less one interval and one beat that hangs.
 */
export function survivableBlackoutMs(options: ResolvedLeaseOptions): number {
  return options.ttlMs - options.marginMs - options.heartbeatMs - options.renewalTimeoutMs;
}

function withDefaults(options: LeaseOptions): ResolvedLeaseOptions {
  const ttlMs = options.ttlMs ?? DEFAULT_TTL_MS;
  const marginMs = options.marginMs ?? Math.max(DEFAULT_LEAST_MARGIN_MS, Math.floor(ttlMs / 10));
  const renewalTimeoutMs = options.renewalTimeoutMs ?? Math.max(1, Math.floor(ttlMs * DEFAULT_RENEWAL_SHARE));
  const room = Math.floor((ttlMs - marginMs - renewalTimeoutMs) / 2);
  const heartbeatMs = options.heartbeatMs ?? Math.max(1, Math.min(DEFAULT_HEARTBEAT_MS, room));
  const third = Math.floor(ttlMs / 3);
  const sweepIntervalMs = options.sweepIntervalMs ?? Math.max(1, Math.min(DEFAULT_SWEEP_INTERVAL_MS, third));
  const cancelGraceMs = options.cancelGraceMs ?? DEFAULT_CANCEL_GRACE_BEATS * heartbeatMs;
  return { ttlMs, heartbeatMs, marginMs, renewalTimeoutMs, sweepIntervalMs, cancelGraceMs };
}

const NAMES = [
  'ttlMs',
  'heartbeatMs',
  'marginMs',
  'renewalTimeoutMs',
  'sweepIntervalMs',
  'cancelGraceMs',
] as const;

/** Looks at what was given: a default that follows from a malformed value is not the reader's mistake. */
function malformed(options: LeaseOptions): string[] {
  return NAMES.filter((name) => options[name] !== undefined && !isDuration(options[name])).map(
    (name) => `${name} must be a positive whole number of milliseconds, not ${String(options[name])}`,
  );
}

function contradictions(resolved: ResolvedLeaseOptions): string[] {
  const { ttlMs, heartbeatMs, marginMs, renewalTimeoutMs, sweepIntervalMs } = resolved;
  const found: string[] = [];
  const trustMs = ttlMs - marginMs;
  const neededMs = 2 * heartbeatMs + renewalTimeoutMs;
  if (known(ttlMs, marginMs, heartbeatMs, renewalTimeoutMs) && trustMs < neededMs)
    found.push(
      `ttlMs - marginMs (${ttlMs} - ${marginMs} = ${trustMs}) must be at least 2 x heartbeatMs + renewalTimeoutMs ` +
        `(2 x ${heartbeatMs} + ${renewalTimeoutMs} = ${neededMs})`,
    );
  const widestMs = sweepIntervalMs * (1 + SWEEP_JITTER);
  if (known(ttlMs, sweepIntervalMs) && widestMs > ttlMs)
    found.push(
      `sweepIntervalMs x ${1 + SWEEP_JITTER} (${sweepIntervalMs} x ${1 + SWEEP_JITTER} = ${Math.round(widestMs)}) ` +
        `must be at most ttlMs (${ttlMs})`,
    );
  return found;
}

function known(...values: readonly number[]): boolean {
  return values.every(isDuration);
}

function isDuration(value: number | undefined): boolean {
  return value !== undefined && Number.isSafeInteger(value) && value > 0;
}
