import type { Statement } from '../statement.js';
import { TERMINAL_LIST } from './conditions.js';
import { DUE_NOW, inMs, putOff } from './push-claims.js';

/** A claim of ours that nobody has taken over. */
const HELD = 'c.claim = s.claim AND c.holder IS NOT NULL';

/**
 * Stores settlements. `$1` task ids, `$2` config ids, `$3` claims, `$4` positions, `$5` delivered, `$6` kinds, `$7`
 * milliseconds of keep and retry, `$8` errors. Rows are locked in the order of their key, so two settlements never wait
 * for each other. `put_off`: has no events, as the statement saw its task.
 */
export const settle: Statement = {
  name: 'settlePushes',
  writes: true,
  text: `
WITH k AS MATERIALIZED (
  SELECT c.task_id, c.config_id, greatest(c.position, s.position) AS position, s.position > c.position AS moved,
         s.delivered, s.delivered OR c.body_seq <= s.position AS cleared, s.kind, s.ms, s.error
    FROM unnest($1::text[], $2::text[], $3::int[], $4::int[], $5::bool[], $6::text[], $7::float8[], $8::text[])
         AS s(task_id, config_id, claim, position, delivered, kind, ms, error)
    JOIN push_notification_configs c ON c.task_id = s.task_id AND c.config_id = s.config_id
   WHERE ${HELD}
   ORDER BY c.task_id, c.config_id FOR NO KEY UPDATE OF c),
j AS MATERIALIZED (
  SELECT k.*, CASE WHEN k.kind <> 'release' THEN k.kind WHEN t.version > k.position THEN 'due'
                   WHEN t.state IN (${TERMINAL_LIST}) THEN 'done' ELSE 'put off' END AS next
    FROM k LEFT JOIN LATERAL (
         SELECT t.version, t.state FROM tasks t WHERE t.id = k.task_id AND k.kind = 'release' OFFSET 0) t ON true)
UPDATE push_notification_configs c
   SET position = j.position,
       changed_at = CASE WHEN j.moved THEN clock_timestamp() ELSE c.changed_at END,
       attempts = CASE WHEN j.delivered THEN 0 ELSE c.attempts END + CASE WHEN j.next = 'retry' THEN 1 ELSE 0 END,
       failing_since = coalesce(CASE WHEN NOT j.delivered THEN c.failing_since END,
                                CASE WHEN j.next = 'retry' THEN clock_timestamp() END),
       last_error = coalesce(j.error, CASE WHEN NOT j.delivered THEN c.last_error END),
       body_seq = CASE WHEN j.cleared THEN NULL ELSE c.body_seq END,
       body = CASE WHEN j.cleared THEN NULL ELSE c.body END,
       status = CASE j.next WHEN 'disable' THEN 'disabled' WHEN 'done' THEN 'done' ELSE c.status END,
       holder = CASE WHEN j.next = 'keep' THEN c.holder END,
       due_at = CASE WHEN j.next IN ('keep', 'retry') THEN ${inMs('j.ms')} WHEN j.next = 'due' THEN ${DUE_NOW}
                     WHEN j.next = 'put off'
                     THEN ${putOff('CASE WHEN j.moved THEN clock_timestamp() ELSE c.changed_at END')} END
  FROM j WHERE c.task_id = j.task_id AND c.config_id = j.config_id
RETURNING c.task_id, c.config_id, j.next = 'put off' AS put_off`,
};

/** Keeps a body. `$1` task id, `$2` config id, `$3` claim, `$4` seq, `$5` body. */
export const storeBody: Statement = {
  name: 'storePushBody',
  writes: true,
  text: `
UPDATE push_notification_configs c SET body_seq = $4::int, body = $5
 WHERE c.task_id = $1 AND c.config_id = $2 AND c.claim = $3::int AND c.holder IS NOT NULL
RETURNING c.task_id`,
};

/**
 * Moves an event to the dead letters. `$1` task id, `$2` config id, `$3` claim, `$4` seq, `$5` ttl in ms, `$6`
 * attempts, `$7` error, `$8` body, `$9` content type.
 */
export const bury: Statement = {
  name: 'buryPush',
  writes: true,
  text: `
WITH k AS MATERIALIZED (
  SELECT c.task_id, c.config_id, c.tenant, c.owner FROM push_notification_configs c
   WHERE c.task_id = $1 AND c.config_id = $2 AND c.claim = $3::int AND c.holder IS NOT NULL FOR NO KEY UPDATE),
d AS (
  INSERT INTO push_dead_letters (task_id, config_id, seq, tenant, owner, attempts, error, body, content_type)
  SELECT k.task_id, k.config_id, $4::int, k.tenant, k.owner, $6::int, $7, $8, $9 FROM k
  ON CONFLICT (task_id, config_id, seq) DO UPDATE
     SET tenant = excluded.tenant, owner = excluded.owner, attempts = excluded.attempts, error = excluded.error,
         body = excluded.body, content_type = excluded.content_type, died_at = excluded.died_at, due_at = NULL,
         holder = NULL, delivered_at = NULL)
UPDATE push_notification_configs c
   SET position = greatest(c.position, $4::int), changed_at = clock_timestamp(), attempts = 0, failing_since = NULL,
       last_error = NULL, body_seq = NULL, body = NULL, due_at = ${inMs('$5')}
  FROM k WHERE c.task_id = k.task_id AND c.config_id = k.config_id
RETURNING c.task_id`,
};
