import { isStorableKey } from '@a2a-cluster/core';
import {
  FORGET_BATCH,
  MOST_REPLICAS,
  toReplicaListings,
  type ReplicaRow,
} from '../statements/replica-rows.js';
import type { ReplicaListing, ReplicaStatements } from '../statements/replica-statements.js';
import { storeFault } from './faults.js';
import type { Pool } from './pool.js';
import { read, write } from './reads.js';
import { rowsOf, type Row } from './rows.js';
import { joinStatements, statement } from './texts.js';
import { transact } from './transaction.js';
import { microseconds } from './writes.js';

const REGISTER = `
INSERT INTO replicas (replica_id, version, host, pid, heartbeat_ms, phase, stats, started_at, beat_at, pause_requested_at)
VALUES (?, ?, ?, ?, ?, ?, ?, SYSDATE(3) - INTERVAL ? MICROSECOND, SYSDATE(3), IF(?, SYSDATE(3), NULL))
ON DUPLICATE KEY UPDATE version = VALUES(version), host = VALUES(host), pid = VALUES(pid),
  heartbeat_ms = VALUES(heartbeat_ms), phase = VALUES(phase), stats = VALUES(stats), started_at = VALUES(started_at),
  beat_at = VALUES(beat_at), pause_requested_at = COALESCE(pause_requested_at, VALUES(pause_requested_at))`;
const LIST = `
SELECT replica_id, version, host, pid, heartbeat_ms, phase, stats, pause_requested_at,
  TIMESTAMPDIFF(MICROSECOND, started_at, SYSDATE(6)) AS up_us,
  TIMESTAMPDIFF(MICROSECOND, beat_at, SYSDATE(6)) AS beat_us
  FROM replicas`;
const FIRST = `ORDER BY started_at DESC, replica_id LIMIT ${MOST_REPLICAS}`;
const ASK = `
UPDATE replicas SET pause_requested_at = IF(?, COALESCE(pause_requested_at, SYSDATE(3)), NULL) WHERE replica_id = ?`;
const SILENT = `
SELECT replica_id FROM replicas WHERE beat_at < SYSDATE(3) - INTERVAL ? MICROSECOND
 ORDER BY replica_id LIMIT ${FORGET_BATCH} FOR UPDATE SKIP LOCKED`;

/** The table of replicas on MySQL and MariaDB. Reports share the connections of the journal. */
export function createReplicas({
  writes,
  reads,
}: {
  readonly writes: Pool;
  readonly reads: Pool;
}): ReplicaStatements {
  return {
    register: async ({ replicaId, version, host, pid, heartbeatMs, phase, stats, upMs = 0 }) => {
      const identity = [replicaId, version, host, pid, heartbeatMs];
      const values = [...identity, phase, JSON.stringify(stats), microseconds(upMs), phase === 'paused'];
      await write(writes, statement(REGISTER, ...values));
    },
    report: (report) => reportReplica(writes, report),
    list: async () => toListings(await read(reads, statement(`${LIST} ${FIRST}`))),
    requestPause: async ({ replicaId, paused }) =>
      isStorableKey(replicaId) && (await write(writes, statement(ASK, paused, replicaId))) > 0,
    remove: async (replicaId) =>
      void (await write(writes, statement('DELETE FROM replicas WHERE replica_id = ?', replicaId))),
    forget: (silentMs) =>
      transact(writes, async (tx) => {
        const [rows = []] = await tx.read(statement(SILENT, microseconds(silentMs)));
        const ids = rows.map((row) => row['replica_id']);
        if (ids.length === 0) return 0;
        await tx.commit([statement('DELETE FROM replicas WHERE replica_id IN (?)', ids)]);
        return ids.length;
      }),
  };
}

/**
 * One text, so one trip. Nothing can be updated from a locking subquery of the same table, so the key goes through a
 * variable: it stays NULL, and nothing is written, where the row is gone or somebody has locked it.
 */
async function reportReplica(
  pool: Pool,
  { replicaId, phase, stats }: Parameters<ReplicaStatements['report']>[0],
): Promise<readonly ReplicaListing[]> {
  const text = joinStatements([
    statement('SET @a2a_replica = NULL'),
    statement('START TRANSACTION'),
    statement(
      'SELECT replica_id INTO @a2a_replica FROM replicas WHERE replica_id = ? FOR UPDATE SKIP LOCKED',
      replicaId,
    ),
    statement(
      'UPDATE replicas SET phase = ?, stats = ?, beat_at = SYSDATE(3) WHERE replica_id = @a2a_replica',
      phase,
      JSON.stringify(stats),
    ),
    statement('COMMIT'),
    statement(
      `${LIST} WHERE replica_id = ? UNION ALL (${LIST} WHERE replica_id <> ? ${FIRST})`,
      replicaId,
      replicaId,
    ),
  ]);
  try {
    return await pool.use(async (session) => {
      try {
        const answers = (await session.query(text.sql, text.values)) as readonly unknown[];
        return toListings(rowsOf(answers.at(-1)));
      } catch (error) {
        // It may have stopped inside the transaction.
        session.destroy();
        throw error;
      }
    });
  } catch (error) {
    throw storeFault(error);
  }
}

function toListings(rows: readonly Row[]): readonly ReplicaListing[] {
  return toReplicaListings(
    rows.map(
      (row) =>
        ({
          ...row,
          up_ms: Number(row['up_us']) / 1_000,
          beat_age_ms: Number(row['beat_us']) / 1_000,
        }) as unknown as ReplicaRow,
    ),
  );
}
