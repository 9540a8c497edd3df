import type { Statement } from '../statement.js';
import { ageMs } from './conditions.js';
import { LOOK_COLUMNS, SCOPED_TASK } from './look.js';

/** The columns of an event `e`. */
export const EVENT_COLUMNS = `e.task_id, e.seq, e.kind, e.payload, e.message_id, e.holder, e.epoch`;

/**
 * A task with its lease, its snapshot and the events after that, one row per event (one row without an event when
 * there is none). One statement: all of one moment. The snapshot stands in the first row only; repeated in each, a
 * 5 MB document with 100 events would be 500 MB. Rejected: arrays of events, which the driver parses character by
 * character.
 */
export const readTask: Statement = {
  name: 'readTask',
  writes: false,
  text: `
SELECT ${LOOK_COLUMNS}, coalesce(s.version, 0) AS snapshot_version,
       CASE WHEN row_number() OVER (ORDER BY e.seq) = 1 THEN s.payload END AS snapshot,
       t.id AS id, ${EVENT_COLUMNS}
  FROM tasks t
  LEFT JOIN task_leases x ON x.task_id = t.id
  LEFT JOIN task_snapshots s ON s.task_id = t.id
  LEFT JOIN task_events e ON e.task_id = t.id AND e.seq > coalesce(s.version, 0)
 WHERE ${SCOPED_TASK}
 ORDER BY e.seq`,
};

/** Where logs end and who runs their tasks. `$1` task ids. */
export const readHeads: Statement = {
  name: 'readHeads',
  writes: false,
  text: `
SELECT t.id, t.version, t.state, x.holder, x.epoch, ${ageMs('x.cancel_requested_at')} AS cancel_age_ms
  FROM tasks t LEFT JOIN task_leases x ON x.task_id = t.id WHERE t.id = ANY ($1::text[])`,
};

/** `$1` task, `$2` after this seq, `$3` limit. */
export const readEvents: Statement = {
  name: 'readEvents',
  writes: false,
  text: `
SELECT ${EVENT_COLUMNS} FROM task_events e
 WHERE e.task_id = $1 AND e.seq > $2::int ORDER BY e.seq LIMIT $3::int`,
};

/** `$1` tasks, `$2` their cursors, `$3` limit of all. The inner limit keeps one long log from being read whole. */
export const readEventsOf: Statement = {
  name: 'readEventsOf',
  writes: false,
  text: `
SELECT ${EVENT_COLUMNS}
  FROM unnest($1::text[], $2::int[]) WITH ORDINALITY AS w(task_id, after, i)
 CROSS JOIN LATERAL (
   SELECT * FROM task_events o WHERE o.task_id = w.task_id AND o.seq > w.after ORDER BY o.seq LIMIT $3::int) e
 ORDER BY w.i, e.seq LIMIT $3::int`,
};

/** The row that carries a user message. */
export const findMessage: Statement = {
  name: 'findMessage',
  writes: false,
  text: `SELECT seq, epoch FROM task_events WHERE task_id = $1 AND message_id = $2`,
};
