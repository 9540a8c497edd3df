import { isStorableKey } from '@a2a-cluster/core';
import {
  FORGET_BATCH,
  MOST_REPLICAS,
  toReplicaListings,
  type ReplicaRow,
} from '../statements/replica-rows.js';
import type { ReplicaListing, ReplicaStatements } from '../statements/replica-statements.js';
import type { SqliteLane } from './connection.js';
import { NOW } from './rows.js';
import type { SqliteSession } from './session.js';

const REGISTER = `
INSERT INTO replicas (replica_id, version, host, pid, heartbeat_ms, phase, stats, started_at, beat_at, pause_requested_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ${NOW} - CAST(? AS INTEGER), ${NOW}, CASE WHEN ? THEN ${NOW} END)
ON CONFLICT (replica_id) DO UPDATE
   SET version = excluded.version, host = excluded.host, pid = excluded.pid, heartbeat_ms = excluded.heartbeat_ms,
       phase = excluded.phase, stats = excluded.stats, started_at = excluded.started_at, beat_at = excluded.beat_at,
       pause_requested_at = coalesce(pause_requested_at, excluded.pause_requested_at)`;
const REPORT = `UPDATE replicas SET phase = ?, stats = ?, beat_at = ${NOW} WHERE replica_id = ?`;
const LIST = `
SELECT replica_id, version, host, pid, heartbeat_ms, phase, stats, pause_requested_at,
       ${NOW} - started_at AS up_ms, ${NOW} - beat_at AS beat_age_ms
  FROM replicas ORDER BY replica_id = ? DESC, started_at DESC, replica_id LIMIT ${MOST_REPLICAS}`;
const ASK = `
UPDATE replicas SET pause_requested_at = CASE WHEN ? THEN coalesce(pause_requested_at, ${NOW}) END
 WHERE replica_id = ?`;
const FORGET = `
DELETE FROM replicas WHERE replica_id IN (
  SELECT replica_id FROM replicas WHERE beat_at < ${NOW} - CAST(? AS INTEGER) LIMIT ${FORGET_BATCH})`;

/** The table of replicas on SQLite. A report waits for the write lock of the file, like every write. */
export function createSqliteReplicas(lane: SqliteLane): ReplicaStatements {
  const write = <T>(name: string, work: (session: SqliteSession) => T): Promise<T> =>
    lane.run({ name, writes: true, work });
  return {
    register: ({ replicaId, version, host, pid, heartbeatMs, phase, stats, upMs = 0 }) =>
      write('registerReplica', (session) => {
        const identity = [replicaId, version, host, pid, heartbeatMs] as const;
        const paused = phase === 'paused' ? 1 : 0;
        session.run(REGISTER, ...identity, phase, JSON.stringify(stats), Math.round(upMs), paused);
      }),
    report: ({ replicaId, phase, stats }) =>
      write('reportReplica', (session) => {
        session.run(REPORT, phase, JSON.stringify(stats), replicaId);
        return listAt(session, replicaId);
      }),
    list: () => lane.run({ name: 'listReplicas', writes: false, work: (session) => listAt(session, null) }),
    requestPause: async ({ replicaId, paused }) => {
      if (!isStorableKey(replicaId)) return false;
      return write('requestPause', (session) => session.run(ASK, paused ? 1 : 0, replicaId) > 0);
    },
    remove: (replicaId) =>
      write(
        'removeReplica',
        (session) => void session.run('DELETE FROM replicas WHERE replica_id = ?', replicaId),
      ),
    forget: (silentMs) => write('forgetReplicas', (session) => session.run(FORGET, Math.round(silentMs))),
  };
}

/** `self` is among them whatever their number. */
function listAt(session: SqliteSession, self: string | null): readonly ReplicaListing[] {
  return toReplicaListings(session.all(LIST, self) as unknown as readonly ReplicaRow[]);
}
