import type { Violation } from '../history/history.js';
import { isTerminalRow, stateAt } from './states.js';
import type { HistoryView, TaskView } from './view.js';

/** I1: at most one terminal event, none after it, and the row of the task is what the log folds to. */
export function checkI01(view: HistoryView): Violation[] {
  return [...view.tasks.values()].flatMap((task) =>
    [...checkEnd(view, task), ...checkRow(task)].map((text) => ({
      invariant: 'I1',
      text,
      taskId: task.taskId,
    })),
  );
}

function checkEnd(view: HistoryView, task: TaskView): string[] {
  const ends = task.read.filter(isTerminalRow);
  const [end] = ends;
  if (end === undefined) return [];
  const found: string[] = [];
  if (ends.length > 1)
    found.push(
      `${ends.length} terminal events: ${ends.map((each) => `seq ${each.row.seq} ${each.state}`).join(', ')}`,
    );
  const later = task.events.find(({ seq }) => seq > end.row.seq);
  if (later)
    found.push(
      `seq ${later.seq} (${later.kind} of ${later.holder}, epoch ${later.epoch}, ${view.at(later.createdAtMs)}) ` +
        `after the terminal seq ${end.row.seq} ${end.state} (${end.row.holder}, ${view.at(end.row.createdAtMs)})`,
    );
  return found;
}

function checkRow(task: TaskView): string[] {
  const { row, events } = task;
  const last = events.at(-1);
  if (row === null) return last ? [`${events.length} events and no task row`] : [];
  if (last === undefined) return [`a task row (${row.state}, version ${row.version}) without any event`];
  const found: string[] = [];
  if (row.version !== last.seq)
    found.push(`the row has version ${row.version}, the last event is seq ${last.seq}`);
  if (task.poisoned) return found;
  const folded = foldedState(task, last.seq);
  if (row.state !== folded)
    found.push(`the row says ${row.state}, the log folds to ${folded} at seq ${last.seq}`);
  return found;
}

/** By the projection itself, which changes nothing of an ended task. */
function foldedState(task: TaskView, seq: number): string {
  const folded = task.foldedAt(seq);
  if (folded === '') return stateAt(task, seq);
  const { task: made } = JSON.parse(folded) as {
    readonly task?: { readonly status?: { readonly state?: string } };
  };
  return made?.status?.state ?? 'TASK_STATE_UNSPECIFIED';
}
