import { isInterruptedName, isTerminalName } from '@a2a-cluster/core';
import type { FaultKind, LeaseRow, LogRecord, Violation } from '../history/history.js';
import { mayConcern } from './excuses.js';
import { isSwept } from './states.js';
import { quietUntil } from './sweep-deadline.js';
import type { HistoryView, TaskView } from './view.js';

/** How long an expired lease may stand. */
const SWEEP_MS = 1_000;
const HELD_UP: readonly FaultKind[] = [
  'database_down',
  'rows_locked',
  'clock',
  'statements',
  'cut_off',
  'stop',
];
const SWEPT_LINE = 'ended the turn of a replica that was lost';

/** I10: leases and states agree at the end, and nothing is swept twice. */
export function checkI10(view: HistoryView): Violation[] {
  return [...view.tasks.values()].flatMap((task) => {
    const texts = [
      ...checkLease(view, task),
      ...checkState(task),
      ...checkTwice(task),
      ...checkLines(view, task),
    ];
    return texts.map((text) => ({ invariant: 'I10', text, taskId: task.taskId }));
  });
}

function checkLease(view: HistoryView, task: TaskView): string[] {
  const { lease, row } = task;
  if (lease === null) return [];
  const named = `the lease of ${lease.holder}, epoch ${lease.epoch}`;
  if (row === null) return [`${named}, belongs to no task`];
  const found = isTerminalName(row.state) ? [`${named}, is left on a task that is ${row.state}`] : [];
  const { endedAtMs, databaseClockIsSteady: steady } = view.history;
  if (!steady || task.poisoned || lease.expiresAtMs >= endedAtMs - SWEEP_MS || isHeldUp(view, lease))
    return found;
  return [
    ...found,
    `${named}, expired at ${view.at(lease.expiresAtMs)} and still stands at ${view.at(endedAtMs)}`,
  ];
}

/** Faults of all, and of that lease's rows, keep sweepers from it; a quiet period follows some of them. */
function isHeldUp(view: HistoryView, { taskId, expiresAtMs }: LeaseRow): boolean {
  const { endedAtMs, faults } = view.history;
  const sinceMs = Math.max(expiresAtMs, endedAtMs - SWEEP_MS);
  return faults.some(
    (fault) =>
      HELD_UP.includes(fault.kind) &&
      (fault.replica === null || fault.kind === 'rows_locked' || fault.kind === 'clock') &&
      fault.fromMs <= endedAtMs &&
      quietUntil(view, fault) >= sinceMs &&
      mayConcern(view, fault, taskId),
  );
}

function checkState({ row, lease, turns, poisoned }: TaskView): string[] {
  if (poisoned || row === null || lease !== null || isTerminalName(row.state)) return [];
  if (!isInterruptedName(row.state)) return [`the task is ${row.state} and nobody holds a lease`];
  const last = turns.at(-1);
  const isSilent = last !== undefined && last.epoch > 1 && last.rows.every(({ kind }) => kind === 'message');
  return isSilent
    ? [`turn ${last.epoch} of ${last.holder} was accepted, wrote nothing, and has no lease any more`]
    : [];
}

function checkTwice(task: TaskView): string[] {
  const seen = new Map<number, number>();
  return task.read.filter(isSwept).flatMap(({ row }) => {
    const other = seen.get(row.epoch);
    seen.set(row.epoch, row.seq);
    return other === undefined ? [] : [`epoch ${row.epoch} was swept at seq ${other} and at seq ${row.seq}`];
  });
}

function checkLines(view: HistoryView, task: TaskView): string[] {
  const first = new Map<number | undefined, LogRecord>();
  return task.logs
    .filter(({ msg }) => msg === SWEPT_LINE)
    .flatMap((line) => {
      const other = first.get(line.epoch);
      first.set(line.epoch, line);
      if (other === undefined) return [];
      return [
        `${other.replica} at ${view.at(other.atMs)} and ${line.replica} at ${view.at(line.atMs)} both say that they swept epoch ${line.epoch}`,
      ];
    });
}
