import type { Statement } from '../statement.js';
import { ageMs, remainingMs } from './conditions.js';
import { DUE_NOW, inMs } from './push-claims.js';

const OF_CONFIG = (table: string): string =>
  `${table}.task_id = $1 AND ($2::text IS NULL OR ${table}.config_id = $2)`;

/** The config of a dead letter `d`: without it there is nowhere to send to. */
const HAS_CONFIG = `EXISTS (
  SELECT FROM push_notification_configs c WHERE c.task_id = d.task_id AND c.config_id = d.config_id)`;

/** An operator's retry. `$1` task id, `$2` config id or null. One row of two counts. */
export const retry: Statement = {
  name: 'retryPushes',
  writes: true,
  text: `
WITH k AS MATERIALIZED (
  SELECT c.task_id, c.config_id, c.status = 'disabled' AS disabled
    FROM push_notification_configs c LEFT JOIN tasks t ON t.id = c.task_id
   WHERE ${OF_CONFIG('c')} AND (c.status = 'disabled' OR
         (c.status = 'active' AND c.holder IS NULL AND t.version > c.position))
   ORDER BY c.task_id, c.config_id FOR NO KEY UPDATE OF c),
u AS (
  UPDATE push_notification_configs c
     SET status = 'active', due_at = least(c.due_at, ${DUE_NOW}),
         attempts = CASE WHEN k.disabled THEN 0 ELSE c.attempts END,
         failing_since = CASE WHEN k.disabled THEN NULL ELSE c.failing_since END,
         last_error = CASE WHEN k.disabled THEN NULL ELSE c.last_error END
    FROM k WHERE c.task_id = k.task_id AND c.config_id = k.config_id
  RETURNING c.task_id),
l AS MATERIALIZED (
  SELECT d.task_id, d.config_id, d.seq FROM push_dead_letters d
   WHERE ${OF_CONFIG('d')} AND d.due_at IS NULL AND d.delivered_at IS NULL AND ${HAS_CONFIG}
   ORDER BY d.task_id, d.config_id, d.seq FOR NO KEY UPDATE OF d),
q AS (
  UPDATE push_dead_letters d SET due_at = ${DUE_NOW} FROM l
   WHERE d.task_id = l.task_id AND d.config_id = l.config_id AND d.seq = l.seq
  RETURNING d.task_id)
SELECT (SELECT count(*)::int FROM u) AS configs, (SELECT count(*)::int FROM q) AS dead_letters`,
};

/** Claims queued dead letters. `$1` holder, `$2` ttl in ms, `$3` limit. */
export const claimDeadLetters: Statement = {
  name: 'claimDeadLetters',
  writes: true,
  text: `
WITH k AS MATERIALIZED (
  SELECT d.task_id, d.config_id, d.seq FROM push_dead_letters d
   WHERE d.due_at <= statement_timestamp() AND ${HAS_CONFIG}
   ORDER BY d.due_at LIMIT $3::int FOR NO KEY UPDATE OF d SKIP LOCKED),
u AS (
  UPDATE push_dead_letters d SET holder = $1, claim = d.claim + 1, due_at = ${inMs('$2')} FROM k
   WHERE d.task_id = k.task_id AND d.config_id = k.config_id AND d.seq = k.seq
  RETURNING d.*)
SELECT u.task_id, u.config_id, u.seq, u.tenant, u.owner, u.attempts, u.error, u.body, u.content_type, u.claim,
       c.payload, c.wire_version, c.origin
  FROM u JOIN push_notification_configs c ON c.task_id = u.task_id AND c.config_id = u.config_id`,
};

/** What became of one. `$1` task id, `$2` config id, `$3` seq, `$4` claim, `$5` error or null. */
export const settleDeadLetter: Statement = {
  name: 'settleDeadLetter',
  writes: true,
  text: `
UPDATE push_dead_letters d
   SET delivered_at = CASE WHEN $5::text IS NULL THEN clock_timestamp() END, error = coalesce($5, d.error),
       attempts = d.attempts + CASE WHEN $5::text IS NULL THEN 0 ELSE 1 END, due_at = NULL, holder = NULL
 WHERE d.task_id = $1 AND d.config_id = $2 AND d.seq = $3::int AND d.claim = $4::int AND d.holder IS NOT NULL
RETURNING d.task_id`,
};

const LISTED = `c.task_id, c.config_id, c.tenant, c.owner, c.url, c.status, c.position, coalesce(t.version, 0) AS version,
  c.attempts, c.last_error, c.holder, c.due_at, ${remainingMs('c.due_at')} AS due_in_ms,
  ${ageMs('c.failing_since')} AS failing_for_ms
  FROM push_notification_configs c LEFT JOIN tasks t ON t.id = c.task_id`;

/** What waits, is claimed or disabled. `$1` limit. Read in the order of the index, up to the limit. */
export const list: Statement = {
  name: 'listPushes',
  writes: false,
  text: `
SELECT * FROM (
  (SELECT ${LISTED} WHERE c.due_at > '-infinity' AND (c.holder IS NOT NULL OR t.version > c.position)
    ORDER BY c.due_at LIMIT $1::int)
  UNION ALL
  (SELECT ${LISTED} WHERE c.status = 'disabled' ORDER BY c.task_id, c.config_id LIMIT $1::int)) x
 ORDER BY due_at NULLS LAST, task_id, config_id LIMIT $1::int`,
};

/** All of a task. `$1` task id, `$2` limit. */
export const listOf: Statement = {
  name: 'listPushesOf',
  writes: false,
  text: `SELECT ${LISTED} WHERE c.task_id = $1 ORDER BY c.due_at NULLS LAST, c.config_id LIMIT $2::int`,
};

const LETTERS = `
SELECT d.task_id, d.config_id, d.tenant, d.owner, coalesce(c.url, '') AS url, d.seq, d.attempts, d.error,
       ${ageMs('d.died_at')} AS age_ms, d.due_at IS NOT NULL AS queued, d.delivered_at IS NOT NULL AS delivered
  FROM push_dead_letters d
  LEFT JOIN push_notification_configs c ON c.task_id = d.task_id AND c.config_id = d.config_id`;

/** The youngest dead letters. `$1` limit. */
export const listDeadLetters: Statement = {
  name: 'listDeadLetters',
  writes: false,
  text: `${LETTERS} ORDER BY d.died_at DESC LIMIT $1::int`,
};

/** The youngest of a task. `$1` task id, `$2` limit. */
export const listDeadLettersOf: Statement = {
  name: 'listDeadLettersOf',
  writes: false,
  text: `${LETTERS} WHERE d.task_id = $1 ORDER BY d.died_at DESC, d.config_id DESC, d.seq DESC LIMIT $2::int`,
};

/** How many of each. Tasks are looked up one by one, for the configs that have something to come. */
export const counts: Statement = {
  name: 'countPushes',
  writes: false,
  text: `
SELECT w.waiting, w.retrying,
       (SELECT count(*)::int FROM push_notification_configs WHERE status = 'disabled') AS disabled,
       (SELECT count(*)::int FROM push_dead_letters WHERE delivered_at IS NULL) AS dead_letters
  FROM (SELECT count(*)::int AS waiting, (count(*) FILTER (WHERE c.attempts > 0))::int AS retrying
          FROM push_notification_configs c
          JOIN LATERAL (SELECT t.version FROM tasks t WHERE t.id = c.task_id OFFSET 0) t ON t.version > c.position
         WHERE c.due_at > '-infinity') w`,
};
