import { findTasksSql } from '../statements/find-tasks-sql.js';
import type { OperatorQueries, OperatorTask } from '../statements/operator-queries.js';
import type { Connections } from './connections.js';
import { toEvent, type EventRecord } from './log.js';
import { toLook, type LookRow } from './sql/look.js';
import * as sql from './sql/operators.js';

type TaskRecord = LookRow & {
  readonly id: string;
  readonly created_ms: number;
  readonly age_ms: number;
  readonly idle_ms: number;
};
type Count = { readonly tasks: number };

/** The operators' reads on PostgreSQL. */
export function createPostgresOperators(requests: Connections): OperatorQueries {
  return {
    findTasks: async (find) => {
      const { text, values } = findTasksSql(find, sql.findDialect);
      const statement = { name: 'findTasks', writes: false, text, once: true };
      return (await requests.run<TaskRecord>(statement, values)).map(toOperatorTask);
    },
    task: async (taskId) => {
      const [row] = await requests.run<TaskRecord>(sql.operatorTask, [taskId]);
      return row ? toOperatorTask(row) : null;
    },
    events: async ({ taskId, after, limit }) => {
      type Row = EventRecord & { readonly created_ms: number };
      const rows = await requests.run<Row>(sql.operatorEvents, [taskId, after, limit]);
      return rows.map((row) => ({ ...toEvent(row), createdAtMs: row.created_ms }));
    },
    countLive: async () => {
      const rows = await requests.run<Count & { readonly state: string }>(sql.countLive, []);
      return Object.fromEntries(rows.map(({ state, tasks }) => [state, tasks] as const));
    },
    countLeaseless: async () => {
      const [row] = await requests.run<Count>(sql.countLeaseless, []);
      return row?.tasks ?? 0;
    },
  };
}

function toOperatorTask(row: TaskRecord): OperatorTask {
  const { scope, contextId, state, version, lease } = toLook(row);
  return {
    ...{ taskId: row.id, contextId, state, version },
    ...{ tenant: scope.tenant, owner: scope.owner },
    ...{ createdAtMs: row.created_ms, ageMs: row.age_ms, idleMs: row.idle_ms },
    lease: lease && { taskId: row.id, ...lease },
  };
}
