import { FORGET_BATCH, MOST_REPLICAS } from '../../statements/replica-rows.js';
import type { Statement } from '../statement.js';
import { ageMs } from './conditions.js';

const COLUMNS = `r.replica_id, r.version, r.host, r.pid, r.heartbeat_ms, r.phase, r.stats, r.pause_requested_at,
       ${ageMs('r.started_at')} AS up_ms, ${ageMs('r.beat_at')} AS beat_age_ms`;
const FIRST = `ORDER BY started_at DESC, replica_id LIMIT ${MOST_REPLICAS}`;

/**
 * Writes a replica's own row, as two common table expressions. `$1` replica, `$2` phase, `$3` stats. A row that is
 * locked is passed over, one that is gone is not there: neither waits, and neither fails.
 */
export function ownReport(first: number): string {
  const [replica, phase, stats] = [first, first + 1, first + 2];
  return `own AS MATERIALIZED (
  SELECT replica_id FROM replicas WHERE replica_id = $${replica} FOR NO KEY UPDATE SKIP LOCKED),
reported AS (
  UPDATE replicas r SET phase = $${phase}, stats = $${stats}, beat_at = clock_timestamp() FROM own
   WHERE r.replica_id = own.replica_id RETURNING r.*)`;
}

/** Inserts the row, or replaces all but a pause. `$8` how long it has run, `$9` whether it says that it is paused. */
export const registerReplica: Statement = {
  name: 'registerReplica',
  writes: true,
  text: `
INSERT INTO replicas AS r (replica_id, version, host, pid, heartbeat_ms, phase, stats, started_at, beat_at, pause_requested_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, clock_timestamp() - $8::float8 * interval '1 ms', clock_timestamp(),
        CASE WHEN $9::boolean THEN clock_timestamp() END)
ON CONFLICT (replica_id) DO UPDATE
   SET version = excluded.version, host = excluded.host, pid = excluded.pid, heartbeat_ms = excluded.heartbeat_ms,
       phase = excluded.phase, stats = excluded.stats, started_at = excluded.started_at, beat_at = excluded.beat_at,
       pause_requested_at = coalesce(r.pause_requested_at, excluded.pause_requested_at)`,
};

/** The own row as it was just written, or as it is where it could not be; then the others, of before the statement. */
export const reportReplica: Statement = {
  name: 'reportReplica',
  writes: true,
  text: `
WITH ${ownReport(1)}
SELECT ${COLUMNS} FROM reported r
UNION ALL
SELECT ${COLUMNS} FROM replicas r WHERE r.replica_id = $1 AND NOT EXISTS (SELECT FROM reported)
UNION ALL
SELECT ${COLUMNS} FROM (SELECT * FROM replicas WHERE replica_id <> $1 ${FIRST}) r`,
};

/** Every replica. */
export const listReplicas: Statement = {
  name: 'listReplicas',
  writes: false,
  text: `SELECT ${COLUMNS} FROM (SELECT * FROM replicas ${FIRST}) r`,
};

/** `$2`: whether it is to pause. The time of a first wish stays. */
export const requestPause: Statement = {
  name: 'requestPause',
  writes: true,
  text: `
UPDATE replicas SET pause_requested_at =
       CASE WHEN $2::boolean THEN coalesce(pause_requested_at, clock_timestamp()) END
 WHERE replica_id = $1 RETURNING replica_id`,
};

/** The replica has closed. */
export const removeReplica: Statement = {
  name: 'removeReplica',
  writes: true,
  text: `DELETE FROM replicas WHERE replica_id = $1`,
};

/** `$1`: silent for longer than so many milliseconds. Whoever forgets at the same time takes others. */
export const forgetReplicas: Statement = {
  name: 'forgetReplicas',
  writes: true,
  text: `
DELETE FROM replicas r USING (
  SELECT replica_id FROM replicas WHERE beat_at < clock_timestamp() - $1::float8 * interval '1 ms'
   LIMIT ${FORGET_BATCH} FOR UPDATE SKIP LOCKED) g
 WHERE r.replica_id = g.replica_id RETURNING r.replica_id`,
};
