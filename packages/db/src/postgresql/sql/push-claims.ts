import { FORGOTTEN_AFTER_MS, LEAST_PUT_OFF_MS, MOST_PUT_OFF_MS } from '../../statements/push-queue-rules.js';
import type { Statement } from '../statement.js';
import { TERMINAL_LIST } from './conditions.js';

/** Cut to the column's milliseconds, which rounds up otherwise: what is due now must not be due in half of one. */
export const DUE_NOW = `date_trunc('milliseconds', clock_timestamp())`;

/** Now and so many milliseconds. */
export function inMs(ms: string): string {
  return `clock_timestamp() + ${ms}::float8 * interval '1 ms'`;
}

/** When a config without events is looked at again: see `putOffMs`. */
export function putOff(changedAt: string): string {
  return `clock_timestamp() + least(interval '${MOST_PUT_OFF_MS} ms',
    greatest(interval '${LEAST_PUT_OFF_MS} ms', (clock_timestamp() - ${changedAt}) / 4))`;
}

/** What a claim gives of a config `c`. */
const CLAIMED = `c.task_id, c.config_id, c.tenant, c.owner, c.payload, c.wire_version, c.origin, c.claim, c.position,
  c.attempts, c.body_seq, c.body, coalesce(greatest(0, extract(epoch FROM clock_timestamp() - c.failing_since) * 1000), 0)::float8 AS failing_for_ms`;

/**
 * Claims the configs of these tasks that have events and are neither claimed nor waiting for a retry. `$1` task ids,
 * `$2` holder, `$3` ttl in ms, `$4` origins to leave out. One row or more for each task with an active config; the rest
 * is null where none of it was claimed. Rows are locked in the order of their key, tasks are only read.
 */
export const claimOf: Statement = {
  name: 'claimPushesOf',
  writes: true,
  text: `
WITH k AS MATERIALIZED (
  SELECT c.task_id, c.config_id, t.version, t.state
    FROM push_notification_configs c JOIN tasks t ON t.id = c.task_id AND t.tenant = c.tenant AND t.owner = c.owner
   WHERE c.task_id = ANY ($1::text[]) AND c.status = 'active' AND t.version > c.position
     AND (c.due_at <= clock_timestamp() OR (c.holder IS NULL AND c.attempts = 0)) AND c.origin <> ALL ($4::text[])
   ORDER BY c.task_id, c.config_id FOR NO KEY UPDATE OF c SKIP LOCKED),
u AS (
  UPDATE push_notification_configs c SET holder = $2, claim = c.claim + 1, due_at = ${inMs('$3')}
    FROM k WHERE c.task_id = k.task_id AND c.config_id = k.config_id
  RETURNING ${CLAIMED}, k.version, k.state),
n AS (
  SELECT DISTINCT c.task_id AS known FROM push_notification_configs c
   WHERE c.task_id = ANY ($1::text[]) AND c.status = 'active')
SELECT n.known, u.* FROM n LEFT JOIN u ON u.task_id = n.known`,
};

/**
 * Claims what is due. `$1` holder, `$2` ttl in ms, `$3` limit, `$4` origins to leave out, `$5` the only
 * ones or null. One row for each config that
 * was due: `verdict` says what became of it.
 *
 * `k` locks and passes over what others have locked, so LIMIT stands above the locking. Judged by the earliest time of
 * the statement, which the index takes. Tasks are looked up one by one for the few rows there are.
 */
export const claimDue: Statement = {
  name: 'claimDuePushes',
  writes: true,
  text: `
WITH k AS MATERIALIZED (
  SELECT c.task_id, c.config_id, c.tenant, c.owner, c.position, c.changed_at FROM push_notification_configs c
   WHERE c.due_at <= statement_timestamp() AND c.origin <> ALL ($4::text[])
     AND ($5::text[] IS NULL OR c.origin = ANY ($5::text[]))
   ORDER BY c.due_at LIMIT $3::int FOR NO KEY UPDATE OF c SKIP LOCKED),
j AS MATERIALIZED (
  SELECT k.*, t.version, t.state,
         CASE WHEN t.version > k.position THEN 'claimed' WHEN t.state IN (${TERMINAL_LIST}) THEN 'done'
              WHEN t.version IS NULL AND k.changed_at < statement_timestamp() - interval '${FORGOTTEN_AFTER_MS} ms'
              THEN 'removed' ELSE 'put off' END AS verdict
    FROM k LEFT JOIN LATERAL (SELECT t.version, t.state FROM tasks t
                             WHERE t.id = k.task_id AND t.tenant = k.tenant AND t.owner = k.owner OFFSET 0) t ON true),
d AS (
  DELETE FROM push_notification_configs c USING j
   WHERE j.verdict = 'removed' AND c.task_id = j.task_id AND c.config_id = j.config_id
  RETURNING c.task_id, c.config_id),
u AS (
  UPDATE push_notification_configs c
     SET holder = CASE WHEN j.verdict = 'claimed' THEN $1 END,
         claim = c.claim + CASE WHEN j.verdict = 'claimed' THEN 1 ELSE 0 END,
         status = CASE WHEN j.verdict = 'done' THEN 'done' ELSE c.status END,
         due_at = CASE j.verdict WHEN 'claimed' THEN ${inMs('$2')} WHEN 'put off' THEN ${putOff('c.changed_at')} END
    FROM j WHERE j.verdict <> 'removed' AND c.task_id = j.task_id AND c.config_id = j.config_id
  RETURNING ${CLAIMED}, j.version, j.state, j.verdict)
SELECT j.task_id AS seen_task, j.config_id AS seen_config, j.verdict AS seen_as, u.*
  FROM j LEFT JOIN u ON u.task_id = j.task_id AND u.config_id = j.config_id AND u.verdict = 'claimed'`,
};

/**
 * Makes those of the configs due at once that have events by now. `$1` task ids, `$2` config ids, of rows that were put
 * off: their statement saw the tasks as they were when it began. Who commits after that finds the rows free.
 */
export const wake: Statement = {
  name: 'wakePushes',
  writes: true,
  text: `
WITH k AS MATERIALIZED (
  SELECT c.task_id, c.config_id
    FROM unnest($1::text[], $2::text[]) AS s(task_id, config_id)
    JOIN push_notification_configs c ON c.task_id = s.task_id AND c.config_id = s.config_id
    JOIN tasks t ON t.id = c.task_id
   WHERE c.status = 'active' AND c.holder IS NULL AND t.version > c.position
   ORDER BY c.task_id, c.config_id FOR NO KEY UPDATE OF c SKIP LOCKED)
UPDATE push_notification_configs c SET due_at = ${DUE_NOW} FROM k
 WHERE c.task_id = k.task_id AND c.config_id = k.config_id`,
};
