import type { Settings } from '../history/history.js';

/** How much of a scenario is run. */
export type Size = 'quick' | 'full';

const DRAIN_MS = 5_000;

/** The intervals of the replicas: short ones for the quick set, so that it fits into every build. */
export function settingsOf(size: Size): Settings {
  const ttlMs = size === 'quick' ? 4_000 : 6_000;
  const heartbeatMs = size === 'quick' ? 500 : 1_000;
  const marginMs = 1_000;
  const renewalTimeoutMs = ttlMs / 5;
  const push =
    size === 'quick'
      ? { pushClaimTtlMs: 4_000, pushTimeoutMs: 1_500, pushPollMs: 300 }
      : { pushClaimTtlMs: 6_000, pushTimeoutMs: 2_000, pushPollMs: 500 };
  return {
    ttlMs,
    heartbeatMs,
    marginMs,
    renewalTimeoutMs,
    sweepIntervalMs: 1_000,
    cancelGraceMs: 2 * heartbeatMs,
    drainTimeoutMs: DRAIN_MS,
    survivableMs: ttlMs - marginMs - heartbeatMs - renewalTimeoutMs,
    ...push,
  };
}

/** The environment that says so to a replica. */
export function environmentOf(settings: Settings): Record<string, string> {
  return {
    LEASE_TTL_MS: String(settings.ttlMs),
    LEASE_HEARTBEAT_MS: String(settings.heartbeatMs),
    SWEEP_INTERVAL_MS: String(settings.sweepIntervalMs),
    CANCEL_GRACE_MS: String(settings.cancelGraceMs),
    DRAIN_TIMEOUT_MS: String(settings.drainTimeoutMs),
    PUSH_ALLOW_PRIVATE: 'true',
    PUSH_CLAIM_TTL_MS: String(settings.pushClaimTtlMs),
    PUSH_TIMEOUT_MS: String(settings.pushTimeoutMs),
    PUSH_POLL_INTERVAL_MS: String(settings.pushPollMs),
    LOG_LEVEL: 'info',
  };
}
