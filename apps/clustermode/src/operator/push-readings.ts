import type { ClusterStatus, PushOperator } from '@a2a-cluster/cluster';
import { errorText, type Logger } from '@a2a-cluster/core';
import type { Reading } from './metrics.js';

/** What is asked about webhooks. */
export interface PushViews {
  status(): Pick<ClusterStatus, 'push'>;
  readonly operator: { readonly push: Pick<PushOperator, 'counts'> };
}

/**
 * Readings about webhooks: what this replica does, and what the database says of all (the same on every replica; take
 * one of them). Without push there are none; while the database does not answer, only the replica's own.
 */
export async function pushReadings(cluster: PushViews, logger: Logger): Promise<readonly Reading[]> {
  const { push } = cluster.status();
  if (push === null) return [];
  const ends = Object.entries(push.ends).map(([end, value]): Reading => ({
    type: 'counter',
    name: 'a2a_cluster_push_attempts_total',
    help: 'Attempts to deliver an event to a webhook, by what became of them; buried: given up for good.',
    labels: { end },
    value,
  }));
  return [
    ...ends,
    gauge('push_in_flight', 'Attempts under way on this replica.', push.inFlight),
    gauge('push_claims', 'Webhooks this replica delivers to now.', push.claims),
    ...(await backlog(cluster, logger)),
  ];
}

async function backlog(cluster: Pick<PushViews, 'operator'>, logger: Logger): Promise<readonly Reading[]> {
  try {
    const { waiting, retrying, disabled, deadLetters } = await cluster.operator.push.counts();
    return [
      gauge('push_waiting', 'Webhooks with events that wait, in the whole cluster.', waiting),
      gauge('push_retrying', 'Those of them whose next event has failed before.', retrying),
      gauge(
        'push_disabled',
        'Webhooks that answered 410 and get nothing more, in the whole cluster.',
        disabled,
      ),
      gauge('push_dead_letters', 'Events that were given up and not delivered since.', deadLetters),
    ];
  } catch (error) {
    logger.warn({ reason: errorText(error) }, 'the backlog of webhooks cannot be read for the metrics');
    return [];
  }
}

function gauge(name: string, help: string, value: number): Reading {
  return { type: 'gauge', name: `a2a_cluster_${name}`, help, value };
}
