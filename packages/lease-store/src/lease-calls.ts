import type { Clock, LeaseKey, Logger } from '@a2a-cluster/core';
import type { LeaseStatements, ReleaseOutcome, Renewed, ReplicaReport } from '@a2a-cluster/db';
import { limited } from './call-limit.js';
import type { SeenRow } from './lease-set.js';
import type { ResolvedLeaseOptions } from './options.js';

/** What the parts of one heartbeat share. */
export interface HeartbeatContext {
  readonly leases: LeaseStatements;
  readonly holder: string;
  readonly options: ResolvedLeaseOptions;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Aborts at close. */
  readonly signal: AbortSignal;
}

/** The lease statements of one holder, each waited for at most one renewal timeout. They reject as `limited` does. */
export interface LeaseCalls {
  beat(keys: readonly LeaseKey[], report: ReplicaReport | null): Promise<readonly Renewed[]>;
  beatOne(lease: LeaseKey, waitMs: number): Promise<Renewed | null>;
  read(taskIds: readonly string[]): Promise<ReadonlyMap<string, SeenRow>>;
  release(lease: LeaseKey): Promise<ReleaseOutcome>;
}

/** Binds the statements to a holder, a TTL and the time limit. */
export function createLeaseCalls(context: HeartbeatContext): LeaseCalls {
  const { leases, holder, clock, signal } = context;
  const { ttlMs, renewalTimeoutMs } = context.options;
  const call = <T>(action: () => Promise<T>): Promise<T> =>
    limited({ clock, limitMs: renewalTimeoutMs, signal, call: action });
  return {
    beat: (keys, report) =>
      call(() => leases.beat({ holder, ttlMs, leases: keys, ...(report === null ? {} : { report }) })),
    beatOne: (lease, waitMs) => call(() => leases.beatOne({ holder, ttlMs, lease, waitMs })),
    async read(taskIds) {
      const rows = await call(() => leases.readLeases(taskIds));
      return new Map(rows.map((row) => [row.taskId, row]));
    },
    release: (lease) => call(() => leases.release({ ...lease, holder })),
  };
}
