import type { Violation } from '../history/history.js';
import { CLOCK_SLACK_MS } from './excuses.js';
import { terminalRow } from './states.js';
import type { HistoryView, TaskView } from './view.js';

/** What retention may delete of a log (I2): the beginning, of tasks that ended long enough ago. */
export function checkPruning(view: HistoryView): Violation[] {
  return [...view.tasks.values()].flatMap((task) => {
    const text = pruningOf(view, task);
    return text === null ? [] : [{ invariant: 'I2', text, taskId: task.taskId }];
  });
}

function pruningOf(view: HistoryView, task: TaskView): string | null {
  const first = task.events.find(({ prunedAtMs }) => prunedAtMs !== undefined);
  if (first === undefined) return null;
  const { eventRetentionMs = Number.POSITIVE_INFINITY } = view.history.settings;
  const end = terminalRow(task)?.row;
  if (end === undefined) return `seq ${first.seq} was pruned, but the task has not ended`;
  const prunedAtMs = Math.min(...task.events.map((row) => row.prunedAtMs ?? Number.POSITIVE_INFINITY));
  const keptMs = prunedAtMs - end.createdAtMs;
  if (view.history.databaseClockIsSteady && keptMs < eventRetentionMs - CLOCK_SLACK_MS)
    return `its log was pruned ${Math.round(keptMs)} ms after its end, not ${eventRetentionMs}`;
  const left = task.events.findIndex((row) => row.prunedAtMs === undefined);
  const after = left === -1 ? undefined : task.events.slice(left).find((row) => row.prunedAtMs !== undefined);
  return after ? `seq ${after.seq} was pruned while seq ${task.events[left]?.seq} is there` : null;
}
