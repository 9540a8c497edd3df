import type { Statement } from '../statement.js';
import { ageMs, remainingMs } from './conditions.js';
import { ownReport } from './replicas.js';

const BEATEN = `k AS MATERIALIZED (
  SELECT x.task_id FROM task_leases x
    JOIN unnest($1::text[], $2::int[]) AS w(task_id, epoch) ON w.task_id = x.task_id AND w.epoch = x.epoch
   WHERE x.holder = $3
   ORDER BY x.task_id FOR NO KEY UPDATE OF x SKIP LOCKED)`;
const RENEW = `UPDATE task_leases x SET expires_at = clock_timestamp() + $4::float8 * interval '1 ms' FROM k
 WHERE x.task_id = k.task_id
RETURNING x.task_id, x.epoch, ${ageMs('x.cancel_requested_at')} AS cancel_age_ms`;

/**
 * Renews a list of leases (protocol 5). `$1` task ids, `$2` epochs, `$3` holder, `$4` ttl in ms.
 *
 * Rows are locked in task order, and rows that somebody else has locked are passed over: as one plain UPDATE a
 * single locked row made every lease of the replica expire. Renewed whatever `expires_at` says: the caller asks only
 * while its own deadline lies ahead. `expires_at` has no index, so this stays a heap-only update.
 */
export const beat: Statement = {
  name: 'beat',
  writes: true,
  text: `
WITH ${BEATEN}
${RENEW}`,
};

/** {@link beat}, and the replica's own row in the same statement. `$5` its id, `$6` phase, `$7` stats. */
export const beatAndReport: Statement = {
  name: 'beatAndReport',
  writes: true,
  text: `
WITH ${ownReport(5)},
${BEATEN}
${RENEW}`,
};

/**
 * Renews one lease and waits for its row at most `$5` ms. The limit is set by the statement itself, for its own
 * transaction: no BEGIN, no second round trip, nothing that stays on a pooled connection. `s` is read before the row
 * is locked because locking comes above the join.
 */
export const beatOne: Statement = {
  name: 'beatOne',
  writes: true,
  text: `
WITH s AS MATERIALIZED (SELECT set_config('lock_timeout', $5, true) AS waits),
k AS MATERIALIZED (
  SELECT x.task_id FROM s CROSS JOIN task_leases x
   WHERE x.task_id = $1 AND x.epoch = $2::int AND x.holder = $3 AND s.waits IS NOT NULL
   FOR NO KEY UPDATE OF x)
UPDATE task_leases x SET expires_at = clock_timestamp() + $4::float8 * interval '1 ms' FROM k
 WHERE x.task_id = k.task_id
RETURNING x.task_id, x.epoch, ${ageMs('x.cancel_requested_at')} AS cancel_age_ms`,
};

/** Who holds these tasks now; no locks. */
export const readLeases: Statement = {
  name: 'readLeases',
  writes: false,
  text: `SELECT task_id, holder, epoch FROM task_leases WHERE task_id = ANY ($1::text[])`,
};

/**
 * Deletes exactly (task, holder, epoch) unless it carries a cancel mark; no row = there was none. The row is locked
 * first, so the mark is judged by its newest version: a mark that lands between snapshot and delete is seen.
 */
export const release: Statement = {
  name: 'release',
  writes: true,
  text: `
WITH k AS MATERIALIZED (
  SELECT task_id, cancel_requested_at IS NOT NULL AS marked FROM task_leases
   WHERE task_id = $1 AND holder = $2 AND epoch = $3::int FOR UPDATE),
d AS (DELETE FROM task_leases x USING k WHERE x.task_id = k.task_id AND NOT k.marked)
SELECT marked FROM k`,
};

/** Marks a cancel on exactly (task, epoch). The first mark's time stays: the grace counts from it. */
export const markCancel: Statement = {
  name: 'markCancel',
  writes: true,
  text: `
UPDATE task_leases SET cancel_requested_at = coalesce(cancel_requested_at, clock_timestamp())
 WHERE task_id = $1 AND epoch = $2::int
RETURNING ${ageMs('cancel_requested_at')} AS cancel_age_ms`,
};

/** Expires a lease now; 2 ms earlier than now, because the column rounds to whole milliseconds. */
export const expireNow: Statement = {
  name: 'expireNow',
  writes: true,
  text: `
UPDATE task_leases SET expires_at = least(expires_at, clock_timestamp() - interval '2 ms')
 WHERE task_id = $1 RETURNING task_id`,
};

/** Milliseconds until the earliest lease expires. Reads the whole table, which is small: no index on purpose. */
export const nextExpiry: Statement = {
  name: 'nextExpiry',
  writes: false,
  text: `SELECT ${remainingMs('min(expires_at)')} AS remaining_ms FROM task_leases`,
};

/** Cuts leases that lie too far ahead, after the clock stepped back (protocol 2). Locked rows are beating: left. */
export const clampFuture: Statement = {
  name: 'clampFuture',
  writes: true,
  text: `
UPDATE task_leases x SET expires_at = clock_timestamp() + $1::float8 * interval '1 ms'
  FROM (SELECT task_id FROM task_leases
         WHERE expires_at > clock_timestamp() + 2 * $1::float8 * interval '1 ms'
         ORDER BY task_id FOR NO KEY UPDATE SKIP LOCKED) k
 WHERE x.task_id = k.task_id RETURNING x.task_id`,
};

/** For operators: every lease, the earliest to expire first. */
export const listLeases: Statement = {
  name: 'listLeases',
  writes: false,
  text: `
SELECT task_id, tenant, owner, holder, epoch, pending, ${remainingMs('expires_at')} AS remaining_ms,
       ${ageMs('cancel_requested_at')} AS cancel_age_ms, ${ageMs('acquired_at')} AS age_ms
  FROM task_leases ORDER BY expires_at, task_id LIMIT $1::int`,
};
