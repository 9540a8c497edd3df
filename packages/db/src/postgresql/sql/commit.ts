import type { CommitEvents } from '../../statements/journal-statements.js';
import type { Statement } from '../statement.js';
import { TERMINAL_LIST } from './conditions.js';
import { eventArrays } from './event-arrays.js';

/**
 * A write of the turn that holds the lease: authority, events, task, snapshot and the end of the lease in one
 * statement (protocol 3.1 to 3.5). No row = refused.
 *
 * All sub-statements share the snapshot taken when the statement began; only row locks, and what is re-read through
 * them, see later commits. So facts come from locked rows, and a refusal is classified by `look`, a statement of its
 * own, never in here. `look` may find nothing wrong: KEY SHARE does not wait for a beat in flight and then judges
 * the old `expires_at` ("retry", protocol 3.7).
 *
 * Rejected:
 * - `version = version + 1` under the lock: a zombie's event lands under the next epoch.
 * - `expires_at > now()` beside the lock: judged before the wait for the lock, a write landed 1.1 s after expiry.
 * - FOR SHARE or FOR UPDATE on the lease: beats would wait for commits. KEY SHARE lets beats pass and makes a
 *   delete wait; a takeover is stopped by `t`, because it needs the task row first.
 * - BEGIN + statements + COMMIT: four more round trips under the row lock.
 */
export const commit: Statement = {
  name: 'commit',
  writes: true,
  text: `
WITH t AS MATERIALIZED (
  SELECT id FROM tasks
   WHERE id = $1 AND version = $2::int AND state NOT IN (${TERMINAL_LIST})
   FOR NO KEY UPDATE),
l AS MATERIALIZED (
  SELECT x.task_id, x.expires_at FROM t JOIN task_leases x ON x.task_id = t.id
   WHERE x.holder = $3 AND x.epoch = $4::int
   FOR KEY SHARE OF x),
ok AS MATERIALIZED (
  SELECT task_id, $2::int + cardinality($5::text[]) AS version FROM l WHERE expires_at > clock_timestamp()),
u AS (
  UPDATE tasks SET version = ok.version, state = coalesce($9, state),
         status_timestamp = coalesce($10, status_timestamp), updated_at = clock_timestamp()
    FROM ok WHERE tasks.id = ok.task_id RETURNING tasks.version),
e AS (
  INSERT INTO task_events (task_id, seq, kind, payload, write_id, message_id, holder, epoch)
  SELECT ok.task_id, $2::int + n.i, n.kind, n.payload, n.write_id, n.message_id, $3, $4::int
    FROM ok, unnest($5::text[], $6::text[], $7::text[], $8::text[])
             WITH ORDINALITY AS n(kind, payload, write_id, message_id, i)),
s AS (
  INSERT INTO task_snapshots (task_id, version, payload)
  SELECT task_id, version, $13::text FROM ok WHERE $13::text IS NOT NULL
  ON CONFLICT (task_id) DO UPDATE SET version = excluded.version, payload = excluded.payload),
p AS (
  UPDATE task_leases x SET pending = false FROM ok
   WHERE x.task_id = ok.task_id AND x.pending AND $12::boolean AND NOT $11::boolean),
d AS (
  DELETE FROM task_leases x USING ok
   WHERE x.task_id = ok.task_id AND x.holder = $3 AND x.epoch = $4::int AND $11::boolean)
SELECT version FROM u`,
};

/** The parameters of {@link commit}. */
export function commitValues(write: CommitEvents): unknown[] {
  const { taskId, expectedVersion, holder, epoch, events, state, statusTimestamp } = write;
  const { terminal, clearsPending, snapshot } = write;
  return [
    ...[taskId, expectedVersion, holder, epoch],
    ...eventArrays(events),
    ...[state, statusTimestamp, terminal, clearsPending, snapshot],
  ];
}
