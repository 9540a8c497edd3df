import { sameScope } from '@a2a-cluster/core';
import type { TaskListPage, TaskListQuery, TaskQueries, TaskRow } from '../statements/task-queries.js';
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
  const { taskId, scope, contextId, state, statusTimestamp, version } = task;
  return { taskId, scope, contextId, state, statusTimestamp: statusTimestamp ?? '', version };
}
