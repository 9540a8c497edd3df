import { LIVE_STATE_NAMES, RUNNING_STATE_NAMES } from '../statements/find-tasks.js';
import { findTasksSql, STATE_INDEX, type FindDialect } from '../statements/find-tasks-sql.js';
import type { FindTasks, OperatorQueries, OperatorTask } from '../statements/operator-queries.js';
import type { SqliteLane } from './connection.js';
import { EVENT_COLUMNS, toEvent } from './log.js';
import { CANCEL_AGE, leaseOf } from './reads.js';
import { NOW, numberAt, textAt } from './rows.js';
import type { SqlRow, SqliteSession } from './session.js';

/** An owner with more tasks than this is read by state and creation: sorting all of an owner's blocks the process. */
const FEW = 2_000;

const COLUMNS = `t.id, t.tenant, t.owner, t.context_id, t.state, t.version, t.created_at,
       max(0, ${NOW} - t.created_at) AS age_ms, max(0, ${NOW} - t.updated_at) AS idle_ms,
       x.holder, x.epoch, x.pending, x.expires_at - ${NOW} AS remaining_ms, ${CANCEL_AGE} AS cancel_age_ms`;
const ONE = `SELECT ${COLUMNS} FROM tasks t LEFT JOIN task_leases x ON x.task_id = t.id WHERE t.id = ?`;
const EVENTS = `
SELECT ${EVENT_COLUMNS}, e.created_at FROM task_events e WHERE e.task_id = ? AND e.seq > ? ORDER BY e.seq LIMIT ?`;
const listOf = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(', ');
const LIVE = `SELECT state, count(*) AS tasks FROM tasks WHERE state IN (${listOf(LIVE_STATE_NAMES)}) GROUP BY state`;
const LEASELESS = `
SELECT count(*) AS tasks FROM tasks t
 WHERE t.state IN (${listOf(RUNNING_STATE_NAMES)})
   AND NOT EXISTS (SELECT 1 FROM task_leases x WHERE x.task_id = t.id)`;
const OWNED = `SELECT count(*) AS tasks FROM (SELECT 1 FROM tasks WHERE tenant = ? AND owner = ? LIMIT ${FEW + 1})`;

/** The operators' reads on SQLite. */
export function createSqliteOperators(lane: SqliteLane): OperatorQueries {
  const read = <T>(name: string, work: (session: SqliteSession) => T): Promise<T> =>
    lane.run({ name, writes: false, work });
  return {
    findTasks: (find) =>
      read('findTasks', (session) => {
        const { text, values } = findTasksSql(find, dialectOf(few(session, find)));
        return session.all(text, ...values).map(toOperatorTask);
      }),
    task: (taskId) =>
      read('operatorTask', (session) => {
        const row = session.get(ONE, taskId);
        return row ? toOperatorTask(row) : null;
      }),
    events: ({ taskId, after, limit }) =>
      read('operatorEvents', (session) =>
        session
          .all(EVENTS, taskId, after, limit)
          .map((row) => ({ ...toEvent(row), createdAtMs: numberAt(row, 'created_at') })),
      ),
    countLive: () =>
      read('countLive', (session) =>
        Object.fromEntries(
          session.all(LIVE).map((row) => [textAt(row, 'state'), numberAt(row, 'tasks')] as const),
        ),
      ),
    countLeaseless: () =>
      read('countLeaseless', (session) => numberAt(session.get(LEASELESS) ?? {}, 'tasks')),
  };
}

/** Whether the owner that is asked for has so few tasks that they are best read whole. There are no statistics. */
function few(session: SqliteSession, { tenant, owner }: FindTasks): boolean {
  if (tenant === undefined || owner === undefined) return false;
  return numberAt(session.get(OWNED, tenant, owner) ?? {}, 'tasks') <= FEW;
}

const dialectOf = (isFew: boolean): FindDialect => ({
  columns: COLUMNS,
  from: ({ owned }) => (owned && isFew ? 'tasks c' : `tasks c INDEXED BY ${STATE_INDEX}`),
  parameter: () => '?',
  ago: (ms) => `${NOW} - CAST(${ms} AS INTEGER)`,
  after: ({ createdAtMs, taskId }, add) =>
    `(c.created_at, c.id) < (CAST(${add(createdAtMs)} AS INTEGER), ${add(taskId)})`,
});

function toOperatorTask(row: SqlRow): OperatorTask {
  const taskId = textAt(row, 'id');
  const lease = leaseOf(row);
  return {
    taskId,
    tenant: textAt(row, 'tenant'),
    owner: textAt(row, 'owner'),
    contextId: textAt(row, 'context_id'),
    state: textAt(row, 'state'),
    version: numberAt(row, 'version'),
    createdAtMs: numberAt(row, 'created_at'),
    ageMs: numberAt(row, 'age_ms'),
    idleMs: numberAt(row, 'idle_ms'),
    lease: lease && { taskId, ...lease },
  };
}
