import { sameScope } from '@a2a-cluster/core';
import type {
  PushConfigQueries,
  PushConfigRow,
  TaskListPage,
  TaskListQuery,
  TaskQueries,
  TaskRow,
} from '../statements/task-queries.js';
import { storedTask } from './log.js';
import { compareKeys, type MemoryTables, type TaskRecord } from './tables.js';

/** The task queries over {@link MemoryTables}. */
export function createMemoryTasks(tables: MemoryTables): TaskQueries {
  return {
    list: async (query) => listTasks(tables, query),
    readTasks: async (taskIds) =>
      taskIds
        .map((taskId) => tables.tasks.get(taskId))
        .filter((task) => task !== undefined)
        .map((task) => storedTask(tables, task)),
  };
}

function listTasks(tables: MemoryTables, query: TaskListQuery): TaskListPage {
  const all = [...tables.tasks.values()]
    .filter((task) => matches(task, query))
    .map(rowOf)
    .sort((a, b) => -compareRows(a, b));
  const { cursor } = query;
  const rest = cursor ? all.filter((row) => compareRows(row, cursor) < 0) : all;
  return { rows: rest.slice(0, query.limit), total: all.length };
}

function matches(task: TaskRecord, query: TaskListQuery): boolean {
  const { scope, contextId, state, statusAfter } = query;
  if (scope !== null && !sameScope(task.scope, scope)) return false;
  if (contextId !== undefined && task.contextId !== contextId) return false;
  if (state !== undefined && task.state !== state) return false;
  return statusAfter === undefined || (task.statusTimestamp ?? '') > statusAfter;
}

/** Ascending; a missing timestamp is `''` and so comes first, last in the list. */
function compareRows(
  a: Pick<TaskRow, 'statusTimestamp' | 'taskId'>,
  b: Pick<TaskRow, 'statusTimestamp' | 'taskId'>,
): number {
  return compareKeys(a.statusTimestamp, b.statusTimestamp) || compareKeys(a.taskId, b.taskId);
}

function rowOf(task: TaskRecord): TaskRow {
  return { ...task, statusTimestamp: task.statusTimestamp ?? '' };
}

/** The push configs over {@link MemoryTables} (protocol 9). */
export function createMemoryPushConfigs(tables: MemoryTables): PushConfigQueries {
  const ofTask = (taskId: string): Map<string, PushConfigRow> => {
    const configs = tables.pushConfigs.get(taskId) ?? new Map<string, PushConfigRow>();
    tables.pushConfigs.set(taskId, configs);
    return configs;
  };
  const load = ({ taskId, scope }: Pick<PushConfigRow, 'taskId' | 'scope'>): PushConfigRow[] =>
    [...(tables.pushConfigs.get(taskId)?.values() ?? [])].filter((row) => sameScope(row.scope, scope));
  return {
    save: async (row) => {
      const configs = ofTask(row.taskId);
      const present = configs.get(row.configId);
      if (present && !sameScope(present.scope, row.scope)) return false;
      // Setting a present key keeps its place, so the order stays that of the first save.
      configs.set(row.configId, { ...row, scope: { tenant: row.scope.tenant, owner: row.scope.owner } });
      return true;
    },
    load: async (find) => load(find),
    loadMany: async (finds) => finds.map(load),
    remove: async ({ taskId, scope, configId }) => {
      const configs = tables.pushConfigs.get(taskId);
      for (const row of [...(configs?.values() ?? [])]) {
        const named = configId === undefined || row.configId === configId;
        if (named && sameScope(row.scope, scope)) configs?.delete(row.configId);
      }
      if (configs?.size === 0) tables.pushConfigs.delete(taskId);
    },
  };
}
