import { LIVE_STATE_NAMES, RUNNING_STATE_NAMES, wantedStates } from '../statements/find-tasks.js';
import type { FindTasks, OperatorQueries, OperatorTask } from '../statements/operator-queries.js';
import { lookAt } from './journal.js';
import { compareKeys, type MemoryTables, type TaskRecord } from './tables.js';

/** The operators' reads over {@link MemoryTables}. */
export function createMemoryOperators(tables: MemoryTables): OperatorQueries {
  const all = (): TaskRecord[] => [...tables.tasks.values()];
  return {
    findTasks: async (find) =>
      all()
        .filter((task) => matches(tables, task, find))
        .sort(youngestFirst)
        .slice(0, find.limit)
        .map((task) => toOperatorTask(tables, task)),
    task: async (taskId) => {
      const task = tables.tasks.get(taskId);
      return task ? toOperatorTask(tables, task) : null;
    },
    events: async ({ taskId, after, limit }) =>
      tables
        .logOf(taskId)
        .filter(({ seq }) => seq > after)
        .slice(0, limit)
        .map(({ seq, kind, payload, messageId, holder, epoch, createdAtMs }) => ({
          ...{ taskId, seq, kind, payload, messageId, holder, epoch, createdAtMs },
        })),
    countLive: async () => {
      const counted = LIVE_STATE_NAMES.map(
        (name) => [name, all().filter(({ state }) => state === name).length] as const,
      );
      return Object.fromEntries(counted.filter(([, count]) => count > 0));
    },
    countLeaseless: async () =>
      all().filter(({ state, taskId }) => RUNNING_STATE_NAMES.includes(state) && !tables.leases.has(taskId))
        .length,
  };
}

function youngestFirst(a: TaskRecord, b: TaskRecord): number {
  return b.createdAtMs - a.createdAtMs || compareKeys(b.taskId, a.taskId);
}

function matches(tables: MemoryTables, task: TaskRecord, find: FindTasks): boolean {
  const { scope, contextId, state, createdAtMs, taskId } = task;
  const { cursor, olderThanMs = -Infinity, youngerThanMs = Infinity } = find;
  const is = <T>(wanted: T | undefined, value: T | undefined): boolean =>
    wanted === undefined || wanted === value;
  if (!is(find.tenant, scope.tenant) || !is(find.owner, scope.owner)) return false;
  if (!is(find.contextId, contextId) || !is(find.holder, tables.leases.get(taskId)?.holder)) return false;
  if (!wantedStates(find).includes(state)) return false;
  const ageMs = tables.nowMs() - createdAtMs;
  if (ageMs <= olderThanMs || ageMs >= youngerThanMs) return false;
  if (cursor === undefined) return true;
  const { createdAtMs: atMs } = cursor;
  return createdAtMs < atMs || (createdAtMs === atMs && compareKeys(taskId, cursor.taskId) < 0);
}

function toOperatorTask(tables: MemoryTables, task: TaskRecord): OperatorTask {
  const { taskId, contextId, createdAtMs, updatedAtMs } = task;
  const { scope, state, version, lease } = lookAt(tables, task);
  const nowMs = tables.nowMs();
  return {
    ...{ taskId, contextId, state, version, createdAtMs },
    ...{ tenant: scope.tenant, owner: scope.owner },
    ageMs: nowMs - createdAtMs,
    idleMs: nowMs - updatedAtMs,
    lease: lease && { taskId, ...lease },
  };
}
