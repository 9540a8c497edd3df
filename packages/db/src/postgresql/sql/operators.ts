import { LIVE_STATE_NAMES, RUNNING_STATE_NAMES } from '../../statements/find-tasks.js';
import type { FindDialect } from '../../statements/find-tasks-sql.js';
import type { Statement } from '../statement.js';
import { ageMs } from './conditions.js';
import { EVENT_COLUMNS } from './log.js';
import { LOOK_COLUMNS } from './look.js';

const epochMs = (column: string): string => `(extract(epoch FROM ${column}) * 1000)::float8`;

const COLUMNS = `t.id, ${LOOK_COLUMNS}, ${epochMs('t.created_at')} AS created_ms,
       ${ageMs('t.created_at')} AS age_ms, ${ageMs('t.updated_at')} AS idle_ms`;
const listOf = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(', ');

/** How pages of tasks are written here. The planner knows how many tasks an owner has, so it is told nothing. */
export const findDialect: FindDialect = {
  columns: COLUMNS,
  from: 'tasks c',
  // Looked up lease by lease: joined, all of `tasks` would be read for the leases of a busy replica.
  held: 'task_leases x CROSS JOIN LATERAL (SELECT * FROM tasks t WHERE t.id = x.task_id OFFSET 0) c',
  parameter: (place) => `$${place}`,
  // Stable within the statement, so that an index can be entered at it.
  ago: (ms) => `statement_timestamp() - ${ms}::float8 * interval '1 ms'`,
  after: ({ createdAtMs, taskId }, add) =>
    `(c.created_at, c.id) < (timestamptz 'epoch' + ${add(createdAtMs)}::float8 * interval '1 ms', ${add(taskId)})`,
};

/** One task. */
export const operatorTask: Statement = {
  name: 'operatorTask',
  writes: false,
  text: `SELECT ${COLUMNS} FROM tasks t LEFT JOIN task_leases x ON x.task_id = t.id WHERE t.id = $1`,
};

/** `$1` task, `$2` after this seq, `$3` limit. */
export const operatorEvents: Statement = {
  name: 'operatorEvents',
  writes: false,
  text: `
SELECT ${EVENT_COLUMNS}, ${epochMs('e.created_at')} AS created_ms FROM task_events e
 WHERE e.task_id = $1 AND e.seq > $2::int ORDER BY e.seq LIMIT $3::int`,
};

/** Counted in the index of states. */
export const countLive: Statement = {
  name: 'countLive',
  writes: false,
  text: `
SELECT state, count(*)::int AS tasks FROM tasks WHERE state IN (${listOf(LIVE_STATE_NAMES)}) GROUP BY state`,
};

/** Tasks that should have a lease and have none. */
export const countLeaseless: Statement = {
  name: 'countLeaseless',
  writes: false,
  text: `
SELECT count(*)::int AS tasks FROM tasks t
 WHERE t.state IN (${listOf(RUNNING_STATE_NAMES)})
   AND NOT EXISTS (SELECT FROM task_leases x WHERE x.task_id = t.id)`,
};
