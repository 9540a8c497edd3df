import type { Overview } from '@a2a-cluster/console/api';
import type { ClusterStatus, ReplicaOperator } from '@a2a-cluster/cluster';
import { attentionOf } from './attention.js';
import type { Counts } from './counts.js';
import type { KeptSample } from './samples.js';
import { replicaInfo, sumOf } from './views.js';

/** What does not change while a replica runs. */
export interface OverviewSetting {
  readonly provider: Overview['provider'];
  readonly leaseTtlMs: number;
  /** Until the table says what it is. */
  readonly heartbeatMs: number;
}

/** What an overview is made of. */
export interface OverviewParts {
  readonly setting: OverviewSetting;
  readonly mayAct: boolean;
  readonly atMs: number;
  readonly status: ClusterStatus;
  readonly known: ReturnType<ReplicaOperator['known']>;
  readonly counts: Counts;
  /** The oldest first. */
  readonly samples: readonly KeptSample[];
  readonly inPhaseMs: ReadonlyMap<string, number>;
  readonly lookingForMs: number;
}

/** The overview; no I/O. */
export function overviewOf(parts: OverviewParts): Overview {
  const { setting, status, known, counts, samples, inPhaseMs, lookingForMs } = parts;
  const { provider, leaseTtlMs } = setting;
  const { replicaId, stream } = status;
  const replicas = known.replicas.map((row) => replicaInfo(row, known.ageMs ?? 0));
  const own = replicas.find((replica) => replica.replicaId === replicaId);
  const knownAgeMs = known.ageMs === null ? null : Math.round(known.ageMs);
  const facts = {
    ...{ replicaId, provider, leaseTtlMs, hints: stream.mode, listening: stream.listening },
    ...{ knownAgeMs, replicas },
  };
  return {
    ...facts,
    atMs: parts.atMs,
    mayAct: parts.mayAct,
    live: counts.live,
    leaseless: counts.leaseless,
    push: counts.push,
    totals: sumOf(replicas.map(({ totals }) => totals)),
    samples: samples.map(({ shown }) => shown),
    attention: attentionOf({
      ...facts,
      ...counts,
      ...{ samples, inPhaseMs, lookingForMs },
      heartbeatMs: own?.heartbeatMs ?? setting.heartbeatMs,
    }),
  };
}
