import { isStorableKey } from '@a2a-cluster/core';
import type { Database } from '@a2a-cluster/db';
import type { ReplicaOperator } from './operator-views.js';
import type { ReplicaBoard } from './replica-board.js';

/** The operator's part that is about replicas. */
export function createReplicaOperator(
  database: Pick<Database, 'replicas'>,
  board: Pick<ReplicaBoard, 'known'>,
): ReplicaOperator {
  const { replicas } = database;
  const request = async (replicaId: string, paused: boolean): Promise<boolean> =>
    isStorableKey(replicaId) && replicas.requestPause({ replicaId, paused });
  return {
    list: () => replicas.list(),
    known: () => board.known(),
    drain: (replicaId) => request(replicaId, true),
    resume: (replicaId) => request(replicaId, false),
  };
}
