import type { Task } from '@a2a-js/sdk';

/** A2A 1.0: absent leaves the history, 0 or less omits it, N leaves the last N messages. Never changes its argument. */
export function withHistoryLength(task: Task, historyLength: number | undefined): Task {
  if (historyLength === undefined) return task;
  return { ...task, history: historyLength <= 0 ? [] : task.history.slice(-historyLength) };
}
