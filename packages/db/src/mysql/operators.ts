import { LIVE_STATE_NAMES, RUNNING_STATE_NAMES } from '../statements/find-tasks.js';
import {
  findTasksSql,
  indexFor,
  ownedProbe,
  STATE_INDEX,
  type FindDialect,
} from '../statements/find-tasks-sql.js';
import type { OperatorQueries, OperatorTask } from '../statements/operator-queries.js';
import type { Pool } from './pool.js';
import { read } from './reads.js';
import { eventOf, leaseOf, numberAt, textAt, type Row } from './rows.js';
import { statement } from './texts.js';

const usSince = (column: string): string => `TIMESTAMPDIFF(MICROSECOND, ${column}, SYSDATE(6))`;
const epochUs = (column: string): string => `TIMESTAMPDIFF(MICROSECOND, '1970-01-01', ${column})`;

const COLUMNS = `t.id, t.tenant, t.owner, t.context_id, t.state, t.version, ${epochUs('t.created_at')} AS created_us,
  ${usSince('t.created_at')} AS age_us, ${usSince('t.updated_at')} AS idle_us, x.holder, x.epoch, x.pending,
  TIMESTAMPDIFF(MICROSECOND, SYSDATE(6), x.expires_at) AS remaining_us, ${usSince('x.cancel_requested_at')} AS cancel_us`;
const ONE = `SELECT ${COLUMNS} FROM tasks t LEFT JOIN task_leases x ON x.task_id = t.id WHERE t.id = ?`;
const EVENTS = `
SELECT e.task_id, e.seq, e.kind, e.payload, e.message_id, e.holder, e.epoch, ${epochUs('e.created_at')} AS created_us
  FROM task_events e WHERE e.task_id = ? AND e.seq > ? ORDER BY e.seq LIMIT ?`;
const listOf = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(', ');
const LIVE = `
SELECT state, COUNT(*) AS tasks FROM tasks FORCE INDEX (${STATE_INDEX})
 WHERE state IN (${listOf(LIVE_STATE_NAMES)}) GROUP BY state`;
const LEASELESS = `
SELECT COUNT(*) AS tasks FROM tasks t FORCE INDEX (${STATE_INDEX}) LEFT JOIN task_leases x ON x.task_id = t.id
 WHERE t.state IN (${listOf(RUNNING_STATE_NAMES)}) AND x.task_id IS NULL`;

/** The planner sorts all tasks of an owner, however many, rather than read them in order: it is told which index. */
const INDEXES = {
  state: STATE_INDEX,
  owner: 'tasks_tenant_owner_state_status_timestamp_id_idx',
  context: 'tasks_tenant_owner_context_id_state_status_timestamp_idx',
};

/** The operators' reads on MySQL and MariaDB. */
export function createOperators(reads: Pool): OperatorQueries {
  return {
    findTasks: async (find) => {
      const probe = ownedProbe(find);
      const [row] = probe ? await read(reads, statement(probe.text, ...probe.values)) : [];
      const index = indexFor(find, row ? numberAt(row, 'tasks') : null);
      const { text, values } = findTasksSql(find, {
        ...dialect,
        from: `tasks c FORCE INDEX (${INDEXES[index]})`,
      });
      return (await read(reads, statement(text, ...values))).map(toOperatorTask);
    },
    task: async (taskId) => {
      const [row] = await read(reads, statement(ONE, taskId));
      return row ? toOperatorTask(row) : null;
    },
    events: async ({ taskId, after, limit }) => {
      const rows = await read(reads, statement(EVENTS, taskId, after, limit));
      return rows.map((row) => ({ ...eventOf(row), createdAtMs: msAt(row, 'created_us') }));
    },
    countLive: async () => {
      const rows = await read(reads, statement(LIVE));
      return Object.fromEntries(rows.map((row) => [textAt(row, 'state'), numberAt(row, 'tasks')] as const));
    },
    countLeaseless: async () => numberAt((await read(reads, statement(LEASELESS)))[0] ?? {}, 'tasks'),
  };
}

const epochOf = (ms: string): string => `TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ${ms} MICROSECOND`;

const dialect: Omit<FindDialect, 'from'> = {
  columns: COLUMNS,
  // Lease by lease, whatever the planner thinks.
  held: 'task_leases x STRAIGHT_JOIN tasks c ON c.id = x.task_id',
  parameter: () => '?',
  // NOW, not SYSDATE: fixed for the statement, so that the index can be entered at it.
  ago: (ms) => `NOW(3) - INTERVAL ${ms} * 1000 MICROSECOND`,
  // Pairs are not compared by an index here; the first condition is what it is entered at.
  after: ({ createdAtMs, taskId }, add) => {
    const at = (): string => epochOf(add(Math.round(createdAtMs * 1_000)));
    return `c.created_at <= ${at()} AND (c.created_at < ${at()} OR c.id < ${add(taskId)})`;
  },
};

function msAt(row: Row, column: string): number {
  return numberAt(row, column) / 1_000;
}

function toOperatorTask(row: Row): OperatorTask {
  const taskId = textAt(row, 'id');
  const lease = leaseOf(row);
  return {
    taskId,
    tenant: textAt(row, 'tenant'),
    owner: textAt(row, 'owner'),
    contextId: textAt(row, 'context_id'),
    state: textAt(row, 'state'),
    version: numberAt(row, 'version'),
    createdAtMs: msAt(row, 'created_us'),
    ageMs: Math.max(0, msAt(row, 'age_us')),
    idleMs: Math.max(0, msAt(row, 'idle_us')),
    lease: lease && { taskId, ...lease },
  };
}
