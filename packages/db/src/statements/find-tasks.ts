import {
  INTERRUPTED_STATE_NAMES,
  isStorableKey,
  isStorableName,
  TERMINAL_STATE_NAMES,
  type StateName,
} from '@a2a-cluster/core';
import type { FindTasks, OperatorQueries } from './operator-queries.js';

/** States in which a task is somebody's to run. */
export const RUNNING_STATE_NAMES: readonly StateName[] = ['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING'];

/** States that are not an end; UNSPECIFIED is what an agent wrote that named none. */
export const LIVE_STATE_NAMES: readonly StateName[] = [
  ...RUNNING_STATE_NAMES,
  ...INTERRUPTED_STATE_NAMES,
  'TASK_STATE_UNSPECIFIED',
];

/** Every state a row can have. */
export const STATE_NAMES: readonly StateName[] = [
  ...LIVE_STATE_NAMES,
  ...TERMINAL_STATE_NAMES,
  'UNRECOGNIZED',
];

/** The states that are asked for, each once, and only such as there are: they stand in SQL as they are. */
export function wantedStates({ states }: Pick<FindTasks, 'states'>): readonly StateName[] {
  return states === undefined ? STATE_NAMES : STATE_NAMES.filter((name) => states.includes(name));
}

/** Whether a search can find anything at all. */
function canFind(find: FindTasks): boolean {
  const { tenant = '', owner = '', contextId, holder, cursor, limit } = find;
  // A context may be empty: an agent's own first task event need not name one.
  const keys = [holder, cursor?.taskId].filter((key) => key !== undefined);
  const names = [tenant, owner, contextId ?? ''];
  const times = [find.olderThanMs ?? 0, find.youngerThanMs ?? 0, cursor?.createdAtMs ?? 0];
  if (!times.every(Number.isFinite)) return false;
  return (
    limit > 0 && wantedStates(find).length > 0 && keys.every(isStorableKey) && names.every(isStorableName)
  );
}

/** Answers what no row can match, so that the statements below see only what the databases take. */
export function guardOperatorQueries(inner: OperatorQueries): OperatorQueries {
  return {
    findTasks: async (find) => (canFind(find) ? inner.findTasks(find) : []),
    task: async (taskId) => (isStorableKey(taskId) ? inner.task(taskId) : null),
    events: async (page) => (isStorableKey(page.taskId) && page.limit > 0 ? inner.events(page) : []),
    countLive: () => inner.countLive(),
    countLeaseless: () => inner.countLeaseless(),
  };
}
