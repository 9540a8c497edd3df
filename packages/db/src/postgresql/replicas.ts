import { isStorableKey } from '@a2a-cluster/core';
import { toReplicaListings, type ReplicaRow } from '../statements/replica-rows.js';
import type { ReplicaStatements } from '../statements/replica-statements.js';
import type { Connections } from './connections.js';
import * as sql from './sql/replicas.js';

/** The table of replicas on PostgreSQL. A beat may write the own row as well: see `Beat.report`. */
export function createPostgresReplicas(requests: Connections): ReplicaStatements {
  return {
    register: async ({ replicaId, version, host, pid, heartbeatMs, phase, stats, upMs = 0 }) => {
      const identity = [replicaId, version, host, pid, heartbeatMs];
      const values = [...identity, phase, JSON.stringify(stats), upMs, phase === 'paused'];
      await requests.run(sql.registerReplica, values);
    },
    report: async ({ replicaId, phase, stats }) => {
      const values = [replicaId, phase, JSON.stringify(stats)];
      return toReplicaListings(await requests.run<Row>(sql.reportReplica, values));
    },
    list: async () => toReplicaListings(await requests.run<Row>(sql.listReplicas, [])),
    requestPause: async ({ replicaId, paused }) =>
      isStorableKey(replicaId) && (await requests.run(sql.requestPause, [replicaId, paused])).length > 0,
    remove: async (replicaId) => void (await requests.run(sql.removeReplica, [replicaId])),
    forget: async (silentMs) => (await requests.run(sql.forgetReplicas, [silentMs])).length,
  };
}

type Row = ReplicaRow & Record<string, unknown>;
