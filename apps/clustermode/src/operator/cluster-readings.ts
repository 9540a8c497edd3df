import type { ReplicaOperator, TaskOperator } from '@a2a-cluster/cluster';
import { errorText, type Logger } from '@a2a-cluster/core';
import type { Reading } from './metrics.js';

/** What can be asked about the whole cluster; what a cluster does not offer is left out of the metrics. */
export interface ClusterViews {
  readonly tasks?: Pick<TaskOperator, 'counts'> | undefined;
  readonly replicas?: Pick<ReplicaOperator, 'known'> | undefined;
}

/** So many intervals without a heartbeat, and a replica is taken for dead. */
const MISSED_BEATS = 3;

/** Readings of the whole cluster: the same on every replica; take one of them, or the highest. */
export async function clusterReadings(views: ClusterViews, logger: Logger): Promise<readonly Reading[]> {
  return [...replicas(views), ...(await tasks(views, logger))];
}

function replicas({ replicas: operator }: ClusterViews): readonly Reading[] {
  if (operator === undefined) return [];
  const { replicas: known, ageMs } = operator.known();
  if (ageMs === null) return [];
  const alive = known.filter(({ beatAgeMs, heartbeatMs }) => beatAgeMs <= MISSED_BEATS * heartbeatMs).length;
  return [gauge('replicas_alive', 'Replicas that write their heartbeat, as this one knows.', alive)];
}

async function tasks({ tasks: operator }: ClusterViews, logger: Logger): Promise<readonly Reading[]> {
  if (operator === undefined) return [];
  try {
    const { leaseless } = await operator.counts();
    return [gauge('leaseless_turns', 'Tasks that look as if they ran, but have no lease.', leaseless)];
  } catch (error) {
    logger.warn({ reason: errorText(error) }, 'tasks cannot be counted for the metrics');
    return [];
  }
}

function gauge(name: string, help: string, value: number): Reading {
  return { type: 'gauge', name: `a2a_cluster_${name}`, help, value };
}
