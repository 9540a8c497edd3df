import type { LeaseInfo, TaskChange, TaskDetail, TaskPage, TaskSummary } from '../api/index.js';

/** A row with what came live. `nowMs` is about now by the database. */
export function changedTask(task: TaskSummary, change: TaskChange, nowMs: number): TaskSummary {
  if (task.taskId !== change.taskId) return task;
  const version = change.version ?? task.version;
  if (version < task.version) return task;
  const ageMs = Math.max(task.ageMs, nowMs - task.createdAtMs);
  const moved = version > task.version;
  return {
    ...task,
    state: change.state ?? task.state,
    version,
    ageMs,
    idleMs: moved ? 0 : task.idleMs + (ageMs - task.ageMs),
    lease: change.lease === undefined ? task.lease : leaseAfter(task.lease, change.lease),
  };
}

/** A lease that came live says nothing of its time: what was read of the same turn stays. */
function leaseAfter(
  known: LeaseInfo | null,
  news: { readonly holder: string; readonly epoch: number } | null,
): LeaseInfo | null {
  if (news === null) return null;
  if (known !== null && known.holder === news.holder && known.epoch === news.epoch) return known;
  return { ...news, pending: false, remainingMs: Number.NaN, cancelAgeMs: null };
}

/** A page with what came live; a deleted task leaves it. */
export function changedPage(page: TaskPage, change: TaskChange, nowMs: number): TaskPage {
  if (!page.tasks.some(({ taskId }) => taskId === change.taskId)) return page;
  const tasks = change.gone
    ? page.tasks.filter(({ taskId }) => taskId !== change.taskId)
    : page.tasks.map((task) => changedTask(task, change, nowMs));
  return { ...page, tasks };
}

/** A task's page with what came live, until it is read again. */
export function changedDetail(detail: TaskDetail, change: TaskChange, nowMs: number): TaskDetail {
  return { ...detail, task: changedTask(detail.task, change, nowMs) };
}
