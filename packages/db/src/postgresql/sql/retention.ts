import type { Statement } from '../statement.js';
import { TERMINAL_LIST } from './conditions.js';

/** A task `t` that has ended so long ago. Judged by the earliest time of the statement; `age` is in milliseconds. */
const ended = (age: string): string =>
  `t.state IN (${TERMINAL_LIST}) AND t.updated_at < statement_timestamp() - ${age}::float8 * interval '1 ms'`;

/**
 * What keeps a task `t` that has ended. Looked up task by task, which OFFSET insists on: a hash of all webhooks for the
 * few tasks of a step would be read at every step.
 */
const FREE = `NOT EXISTS (SELECT FROM task_leases x WHERE x.task_id = t.id OFFSET 0)
   AND NOT EXISTS (SELECT FROM push_notification_configs c
                    WHERE c.task_id = t.id AND c.status = 'active' AND c.position < t.version OFFSET 0)
   AND NOT EXISTS (SELECT FROM push_dead_letters d WHERE d.task_id = t.id AND d.due_at IS NOT NULL OFFSET 0)`;

/**
 * The next rows of the walk: those that are due, and the last id looked at in a row of its own (`version` null) unless
 * the walk ends here. `$1` after, `$2` limit, `$3` age in ms, `$4` whether tasks without a log are due too.
 */
export const find: Statement = {
  name: 'findRetention',
  writes: false,
  text: `
WITH w AS MATERIALIZED (
  SELECT id, state, version, updated_at FROM tasks WHERE id > $1 ORDER BY id LIMIT $2::int)
SELECT t.id, t.version, coalesce((SELECT s.version FROM task_snapshots s WHERE s.task_id = t.id), 0)
       AS snapshot_version
  FROM w t
 WHERE ${ended('$3')} AND ${FREE}
   AND ($4::boolean OR EXISTS (SELECT FROM task_events e WHERE e.task_id = t.id OFFSET 0))
UNION ALL
SELECT max(id), NULL, NULL FROM w HAVING count(*) = $2::int`,
};

/** A row of {@link find}. */
export interface FindRow {
  readonly id: string;
  readonly version: number | null;
  readonly snapshot_version: number | null;
}

/**
 * Stores documents and deletes events. `$1` ids, `$2` versions, `$3` documents or nulls, `$4` age in ms, `$5` most
 * events. Always one row.
 *
 * `k` locks the tasks and judges their newest versions; leases and webhooks are seen as of the statement's beginning,
 * and for an ended task neither comes back. The events of an ended task are written by nobody, but another pruner may have
 * deleted some since the statement began: what counts is what this one deleted.
 */
export const compact: Statement = {
  name: 'compact',
  writes: true,
  text: `
WITH k AS MATERIALIZED (
  SELECT t.id, t.version, n.snapshot
    FROM unnest($1::text[], $2::int[], $3::text[]) AS n(id, version, snapshot)
    JOIN tasks t ON t.id = n.id AND t.version = n.version
   WHERE ${ended('$4')} AND ${FREE}
   ORDER BY t.id FOR NO KEY UPDATE OF t SKIP LOCKED),
p AS MATERIALIZED (
  SELECT k.* FROM k
   WHERE k.snapshot IS NOT NULL
      OR EXISTS (SELECT FROM task_snapshots s WHERE s.task_id = k.id AND s.version = k.version OFFSET 0)),
s AS (
  INSERT INTO task_snapshots (task_id, version, payload)
  SELECT id, version, snapshot FROM p WHERE snapshot IS NOT NULL
  ON CONFLICT (task_id) DO UPDATE SET version = excluded.version, payload = excluded.payload),
v AS MATERIALIZED (
  SELECT p.id, e.seq
    FROM p CROSS JOIN LATERAL (
      SELECT seq FROM task_events o WHERE o.task_id = p.id ORDER BY o.seq LIMIT $5::int) e
   ORDER BY p.id, e.seq LIMIT $5::int),
d AS (
  DELETE FROM task_events e USING v WHERE e.task_id = v.id AND e.seq = v.seq RETURNING e.seq)
SELECT (SELECT count(*)::int FROM d) AS events, (SELECT array_agg(id) FROM p) AS ids`,
};

/** The row of {@link compact}. */
export interface CompactRow {
  readonly events: number;
  /** Null: none. */
  readonly ids: string[] | null;
}

/**
 * Deletes events of tasks, and the tasks of which none is left. `$1` ids, `$2` age in ms, `$3` most events. One row per
 * deleted task, and one with the count of events. `v` has one event more than may go: its task is the first that stays.
 */
export const purge: Statement = {
  name: 'purge',
  writes: true,
  text: `
WITH k AS MATERIALIZED (
  SELECT t.id, t.tenant, t.owner, t.state FROM tasks t
   WHERE t.id = ANY ($1::text[]) AND ${ended('$2')} AND ${FREE}
   ORDER BY t.id FOR UPDATE OF t SKIP LOCKED),
v AS MATERIALIZED (
  SELECT k.id, e.seq, row_number() OVER (ORDER BY k.id, e.seq) AS n
    FROM k CROSS JOIN LATERAL (
      SELECT seq FROM task_events o WHERE o.task_id = k.id ORDER BY o.seq LIMIT $3::int + 1) e
   ORDER BY k.id, e.seq LIMIT $3::int + 1),
e AS (
  DELETE FROM task_events e USING v WHERE e.task_id = v.id AND e.seq = v.seq AND v.n <= $3::int RETURNING e.seq),
g AS MATERIALIZED (
  SELECT k.* FROM k WHERE k.id < ALL (SELECT v.id FROM v WHERE v.n > $3::int)),
s AS (DELETE FROM task_snapshots s USING g WHERE s.task_id = g.id),
l AS (DELETE FROM push_dead_letters d USING g WHERE d.task_id = g.id),
c AS (DELETE FROM push_notification_configs c USING g WHERE c.task_id = g.id),
t AS (DELETE FROM tasks t USING g WHERE t.id = g.id)
SELECT g.id, g.tenant, g.owner, g.state, NULL::int AS events FROM g
UNION ALL
SELECT NULL, NULL, NULL, NULL, (SELECT count(*)::int FROM e)`,
};

/** A row of {@link purge}: of a task, or of the count. */
export type PurgeRow =
  | {
      readonly id: string;
      readonly tenant: string;
      readonly owner: string;
      readonly state: string;
      readonly events: null;
    }
  | { readonly id: null; readonly events: number };
