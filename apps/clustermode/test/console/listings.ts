import type { ReplicaListing } from '@a2a-cluster/db';
import type { LeaseListing } from '@a2a-cluster/core';

const STATS: ReplicaListing['stats'] = {
  ...{ runningTurns: 0, heldLeases: 0, subscribers: 0, pushInFlight: 0 },
  ...{ turnsStarted: 0, turnsEnded: 0, turnsParked: 0, turnsRefused: 0, turnsSwept: 0, leasesLost: 0 },
  ...{ pushDelivered: 0, pushFailed: 0 },
};

/** A row of the table of replicas. */
export function listing(
  replicaId: string,
  more: Partial<Omit<ReplicaListing, 'stats'>> & { readonly stats?: Partial<ReplicaListing['stats']> } = {},
): ReplicaListing {
  return {
    ...{ version: '1.0.0', host: 'host-1', pid: 7, heartbeatMs: 5_000, phase: 'running', upMs: 600_000 },
    ...{ beatAgeMs: 1_000, pauseRequested: false },
    ...more,
    replicaId,
    stats: { ...STATS, ...more.stats },
  };
}

/** A row of the leases. */
export function lease(holder: string, remainingMs: number, taskId = 'task-1'): LeaseListing {
  return {
    ...{ taskId, holder, remainingMs, epoch: 1, pending: false, cancelAgeMs: null },
    ...{ tenant: '', owner: 'alice', ageMs: 20_000 },
  };
}
