import { isStorableKey } from '@a2a-cluster/core';
import { FORGET_BATCH, MOST_REPLICAS, youngestFirst } from '../statements/replica-rows.js';
import type { ReplicaListing, ReplicaStatements } from '../statements/replica-statements.js';
import type { MemoryTables, ReplicaRecord } from './tables.js';

/** The table of replicas over {@link MemoryTables}. */
export function createMemoryReplicas(tables: MemoryTables): ReplicaStatements {
  const { replicas } = tables;
  return {
    register: async ({ replicaId, version, host, pid, heartbeatMs, phase, stats, upMs = 0 }) => {
      const nowMs = tables.nowMs();
      const asked = replicas.get(replicaId)?.pauseRequestedAtMs ?? null;
      replicas.set(replicaId, {
        identity: { replicaId, version, host, pid, heartbeatMs },
        report: { replicaId, phase, stats },
        startedAtMs: nowMs - upMs,
        beatAtMs: nowMs,
        pauseRequestedAtMs: asked ?? (phase === 'paused' ? nowMs : null),
      });
    },
    report: async ({ replicaId, phase, stats }) => {
      const own = replicas.get(replicaId);
      if (own) Object.assign(own, { report: { replicaId, phase, stats }, beatAtMs: tables.nowMs() });
      return listReplicas(tables, own);
    },
    list: async () => listReplicas(tables, undefined),
    requestPause: async ({ replicaId, paused }) => {
      const row = isStorableKey(replicaId) ? replicas.get(replicaId) : undefined;
      if (!row) return false;
      row.pauseRequestedAtMs = paused ? (row.pauseRequestedAtMs ?? tables.nowMs()) : null;
      return true;
    },
    remove: async (replicaId) => void replicas.delete(replicaId),
    forget: async (silentMs) => {
      const nowMs = tables.nowMs();
      const silent = [...replicas.values()]
        .filter(({ beatAtMs }) => nowMs - beatAtMs > silentMs)
        .slice(0, FORGET_BATCH);
      for (const { identity } of silent) replicas.delete(identity.replicaId);
      return silent.length;
    },
  };
}

/** `own` is among them whatever their number. */
function listReplicas(tables: MemoryTables, own: ReplicaRecord | undefined): readonly ReplicaListing[] {
  const others = [...tables.replicas.values()]
    .filter((record) => record !== own)
    .sort((a, b) => b.startedAtMs - a.startedAtMs);
  const listed = [...(own ? [own] : []), ...others].slice(0, MOST_REPLICAS);
  return youngestFirst(listed.map((record) => toListing(tables, record)));
}

function toListing(tables: MemoryTables, record: ReplicaRecord): ReplicaListing {
  const { identity, report, startedAtMs, beatAtMs, pauseRequestedAtMs } = record;
  const nowMs = tables.nowMs();
  return {
    ...identity,
    phase: report.phase,
    stats: { ...report.stats },
    upMs: nowMs - startedAtMs,
    beatAgeMs: nowMs - beatAtMs,
    pauseRequested: pauseRequestedAtMs !== null,
  };
}
