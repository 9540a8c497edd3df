import { LIVE_STATE_NAMES, RUNNING_STATE_NAMES } from '../statements/find-tasks.js';
import {
  findTasksSql,
  indexFor,
  ownedProbe,
  STATE_INDEX,
  type FindDialect,
} from '../statements/find-tasks-sql.js';
import type { FindTasks, OperatorQueries, OperatorTask } from '../statements/operator-queries.js';
import type { SqliteLane } from './connection.js';
import { EVENT_COLUMNS, toEvent } from './log.js';
import { CANCEL_AGE, leaseOf } from './reads.js';
import { NOW, numberAt, textAt } from './rows.js';
import type { SqlRow, SqliteSession } from './session.js';

/** There are no statistics here, so a page says which index it is read by. */
const INDEXES = {
  state: STATE_INDEX,
  owner: 'tasks_tenant_owner_state_status_timestamp_id_idx',
  context: 'tasks_tenant_owner_context_id_status_timestamp_id_state_idx',
};

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

/** The operators' reads on SQLite. */
export function createSqliteOperators(lane: SqliteLane): OperatorQueries {
  const read = <T>(name: string, work: (session: SqliteSession) => T): Promise<T> =>
    lane.run({ name, writes: false, work });
  return {
    findTasks: (find) =>
      read('findTasks', (session) => {
        const { text, values } = findTasksSql(find, dialectBy(indexFor(find, owned(session, find))));
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

function owned(session: SqliteSession, find: FindTasks): number | null {
  const probe = ownedProbe(find);
  return probe && numberAt(session.get(probe.text, ...probe.values) ?? {}, 'tasks');
}

const dialectBy = (index: keyof typeof INDEXES): FindDialect => ({
  columns: COLUMNS,
  from: `tasks c INDEXED BY ${INDEXES[index]}`,
  // CROSS keeps the order: lease by lease, not all tasks in the states that are asked for.
  held: 'task_leases x CROSS JOIN tasks c ON c.id = x.task_id',
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
