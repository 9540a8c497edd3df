import type { SweepBatch, SweptLease } from '../../statements/journal-statements.js';
import type { Statement } from '../statement.js';
import { TERMINAL_LIST } from './conditions.js';

/** `to_json` of a text escapes exactly as `JSON.stringify` does: the two differ for no string that can be stored. */
const json = (value: string): string => `to_json(${value}::text)::text`;

/** The codec leaves out what is empty. */
const contextField = `CASE WHEN c.context_id = '' THEN '' ELSE '"contextId":' || ${json('c.context_id')} || ',' END`;

/** A moment as JavaScript's `toISOString` writes it. */
export const isoOf = (column: string): string =>
  `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/**
 * The FAILED update in the codec's JSON, byte for byte (a test compares it with `encodeEvent(failedStatus(..))`).
 * Made here because what it says is known only once the rows are locked; a second statement for it would be a
 * window in which the sweeper dies with the leases taken and the tasks not ended. `c` is the task, `$3` the timestamp,
 * `$4` the text.
 */
export const failedPayload = (turn: {
  readonly epoch: string;
  readonly detail: string;
  readonly moment: string;
}): string => `
  '{"statusUpdate":{"taskId":' || ${json('c.id')} || ',' || ${contextField}
  || '"status":{"state":"TASK_STATE_FAILED","message":{"messageId":'
  || ${json(`('sweep:' || c.id || ':' || ${turn.epoch})`)} || ',' || ${contextField} || '"taskId":' || ${json('c.id')}
  || ',"role":"ROLE_AGENT","parts":[{"text":' || ${json('$4')} || '}]},"timestamp":' || ${json('$3')}
  || '},"metadata":{"a2a-cluster":{"reason":"replica_lost","${turn.detail}":' || ${json(isoOf(turn.moment))} || '}}}}'`;

const FAILED_PAYLOAD = failedPayload({ epoch: 'x.epoch', detail: 'expiredAt', moment: 'x.expires_at' });

const EXPIRED = `x.expires_at < statement_timestamp() AND ($5::text IS NULL OR x.task_id = $5)
     AND x.task_id <> ALL ($6::text[])`;

/**
 * Looked up lease by lease, which OFFSET insists on: statistics are older than any lease, so they say that all have
 * expired, and the planner might read the whole of `tasks` for the few that have.
 */
const TASK_OF_LEASE = 'SELECT FROM tasks t WHERE t.id = x.task_id OFFSET 0';

/**
 * Ends expired turns, each exactly once across all sweepers (protocol 6). Always gives one row or more: the count of
 * candidates stands in each, `id` is null where nothing was taken.
 *
 * - `c` locks the tasks, longest expired first; LIMIT stands above the locking, so rows locked by others are passed
 *   over and further ones found. Leases are sorted before the join, so that no more tasks are looked up than are taken.
 *   `k` then locks the leases and tests the expiry again on their newest version.
 * - Judged by `statement_timestamp()`, the earliest time of the statement: waiting never makes a lease look older.
 * - The verdict is core's `verdictOn`: the contract suite holds the two together.
 * - Candidates are counted by a plain read, up to the limit: more than were taken means some were locked.
 *
 * Rejected: leases first (deadlocks with commit and openTurn); FOR UPDATE without SKIP LOCKED (one task in a long
 * commit would hold up every other dead turn).
 */
export const sweep: Statement = {
  name: 'sweep',
  writes: true,
  text: `
WITH n AS (
  SELECT count(*)::int AS candidates FROM (
    SELECT FROM task_leases x WHERE ${EXPIRED} AND EXISTS (${TASK_OF_LEASE}) LIMIT $1::int) seen),
c AS MATERIALIZED (
  SELECT t.id, t.tenant, t.owner, t.context_id, t.version, t.state
    FROM (SELECT x.task_id, x.expires_at FROM task_leases x WHERE ${EXPIRED} ORDER BY x.expires_at) x
    JOIN tasks t ON t.id = x.task_id
   ORDER BY x.expires_at LIMIT $1::int
   FOR NO KEY UPDATE OF t SKIP LOCKED),
k AS MATERIALIZED (
  SELECT c.id, c.tenant, c.owner, c.version, x.epoch, x.holder,
         (extract(epoch FROM statement_timestamp() - x.expires_at) * 1000)::float8 AS expired_for_ms,
         CASE WHEN c.state NOT IN (${TERMINAL_LIST}) AND (x.pending OR c.state <> 'TASK_STATE_INPUT_REQUIRED')
              THEN ${FAILED_PAYLOAD} END AS payload
    FROM c JOIN task_leases x ON x.task_id = c.id
   WHERE x.expires_at < statement_timestamp()
   FOR UPDATE OF x SKIP LOCKED),
u AS (
  UPDATE tasks SET version = k.version + 1, state = 'TASK_STATE_FAILED', status_timestamp = $3,
         updated_at = clock_timestamp()
    FROM k WHERE tasks.id = k.id AND k.payload IS NOT NULL),
e AS (
  INSERT INTO task_events (task_id, seq, kind, payload, write_id, holder, epoch)
  SELECT id, version + 1, 'statusUpdate', payload, 'sweep:' || id || ':' || epoch, $2, epoch
    FROM k WHERE payload IS NOT NULL),
d AS (DELETE FROM task_leases x USING k WHERE x.task_id = k.id)
SELECT n.candidates, k.* FROM n LEFT JOIN k ON true`,
};

/** The parameters of {@link sweep}. */
export function sweepValues(batch: SweepBatch): unknown[] {
  const { limit, sweeper, statusTimestamp, text, taskId, except } = batch;
  return [limit, sweeper, statusTimestamp, text, taskId ?? null, [...(except ?? [])]];
}

/** A row of {@link sweep}. */
export interface SweepRow {
  readonly candidates: number;
  /** Null, as all the rest: nothing was taken. */
  readonly id: string | null;
  readonly tenant: string;
  readonly owner: string;
  /** The task's version before the sweep. */
  readonly version: number;
  readonly epoch: number;
  readonly holder: string;
  readonly expired_for_ms: number;
  readonly payload: string | null;
}

/** The lease a row stands for, or none. */
export function toSwept(row: SweepRow): SweptLease[] {
  const { id, tenant, owner, holder, epoch, payload, version, expired_for_ms: expiredForMs } = row;
  if (id === null) return [];
  const failed = payload === null ? null : { seq: version + 1, payload };
  return [{ taskId: id, scope: { tenant, owner }, holder, epoch, expiredForMs, failed }];
}

/** Drops expired leases that have no task, which `sweep` never sees because it locks the task first. */
export const sweepOrphans: Statement = {
  name: 'sweepOrphans',
  writes: true,
  text: `
DELETE FROM task_leases x USING (
  SELECT task_id FROM task_leases x
   WHERE expires_at < statement_timestamp() AND NOT EXISTS (${TASK_OF_LEASE})
   LIMIT $1::int FOR UPDATE SKIP LOCKED) g
 WHERE x.task_id = g.task_id RETURNING x.task_id`,
};
