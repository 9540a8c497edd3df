import type { EventRow, Violation } from '../history/history.js';
import type { ReadRow } from './read-row.js';
import { CANCELED, isSwept } from './states.js';
import type { HistoryView, TaskView, TurnView } from './view.js';

/** I3: every event carries the epoch that was current, epochs only grow, one replica writes under an epoch. */
export function checkI03(view: HistoryView): Violation[] {
  return [...view.tasks.values()].flatMap((task) =>
    [
      ...checkEpochs(task),
      ...task.turns.flatMap((turn) => checkHolder(task, turn)),
      ...checkKnown(view, task),
    ].map((text) => ({ invariant: 'I3', text, taskId: task.taskId })),
  );
}

function checkEpochs(task: TaskView): string[] {
  const found: string[] = [];
  let highest = 0;
  for (const turn of task.turns) {
    for (const row of turn.rows) {
      if (row.epoch < highest) found.push(`${named(row)}: an epoch shrinks, it was ${highest} before`);
      else if (row.epoch !== turn.epoch && !isCancelWithoutLease(task, row))
        found.push(`${named(row)}: the turn current there has epoch ${turn.epoch}`);
      highest = Math.max(highest, row.epoch);
    }
  }
  return found;
}

/** A canceller that finds no lease writes under the version it read. */
function isCancelWithoutLease(task: TaskView, row: EventRow): boolean {
  return row.epoch === row.seq - 1 && readOf(task, row)?.state === CANCELED;
}

/** The opening row is of the holder; rows that end the turn for somebody else, and later messages, may be of another. */
function checkHolder(task: TaskView, turn: TurnView): string[] {
  const stranger = turn.rows.find((row, index) => {
    if (row.holder === turn.holder || (row.kind === 'message' && index > 0)) return false;
    return !mayBeWrittenForAnother(task, row);
  });
  return stranger ? [`${named(stranger)}: the holder of epoch ${turn.epoch} is ${turn.holder}`] : [];
}

function mayBeWrittenForAnother(task: TaskView, row: EventRow): boolean {
  const read = readOf(task, row);
  // What cannot be read was made so on purpose, or is told by another rule.
  return read === undefined || isSwept(read) || read.state === CANCELED;
}

/** Nobody but the replicas of the run writes. */
function checkKnown(view: HistoryView, task: TaskView): string[] {
  if (view.history.replicas.some(({ holder }) => holder === null)) return [];
  const stranger = task.events.find(({ holder }) => !view.byHolder.has(holder));
  return stranger ? [`${named(stranger)}: no replica of this run is called so`] : [];
}

function readOf(task: TaskView, row: EventRow): ReadRow | undefined {
  return task.read.find((each) => each.row === row);
}

function named(row: EventRow): string {
  return `seq ${row.seq} (${row.kind} of ${row.holder}) carries epoch ${row.epoch}`;
}
