import type { Tally } from '@a2a-cluster/core';
import type { ReplicaStats } from '@a2a-cluster/db';
import type { ClusterStatus } from './status.js';

/** Ends of turns after which the task takes nothing more. */
const FINAL_ENDS = ['completed', 'failed', 'canceled', 'rejected', 'incomplete'] as const;

/** The figures of a replica: totals from its tally and its deliveries, the rest from its status. No I/O. */
export function replicaStatsOf(
  tally: Pick<Tally, 'total'>,
  status: Pick<ClusterStatus, 'runningTurns' | 'heldLeases' | 'stream' | 'push'>,
): ReplicaStats {
  const ended = FINAL_ENDS.map((end) => tally.total('turns_ended_total', { end }));
  const { delivered = 0, failed = 0, rejected = 0, gone = 0 } = status.push?.ends ?? {};
  return {
    runningTurns: status.runningTurns,
    heldLeases: status.heldLeases,
    subscribers: status.stream.tails,
    turnsStarted: tally.total('turns_started_total'),
    turnsEnded: ended.reduce((sum, count) => sum + count, 0),
    turnsParked: tally.total('turns_ended_total', { end: 'input_required' }),
    turnsRefused: tally.total('turns_refused_total'),
    leasesLost: tally.total('leases_lost_total'),
    turnsSwept: tally.total('leases_swept_total', { verdict: 'failed' }),
    pushDelivered: delivered,
    pushFailed: failed + rejected + gone,
    pushInFlight: status.push?.inFlight ?? 0,
  };
}
