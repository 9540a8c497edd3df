import { isTerminalName } from '@a2a-cluster/core';
import type { LogRecord } from '../history/history.js';
import { CLOCK_SLACK_MS } from './excuses.js';
import type { ReadRow } from './read-row.js';
import { isSwept } from './states.js';
import { replicaOf, type HistoryView, type TaskView, type TurnView } from './view.js';

/** What the agent of the harness writes of a turn. */
export const AGENT_LINES = {
  began: 'agent turn began',
  fired: 'agent signal fired',
  returned: 'agent turn returned',
} as const;

/** The rows of a turn that could be read. */
export function readRowsOf(task: TaskView, turn: TurnView): ReadRow[] {
  const first = turn.rows[0]?.seq ?? 0;
  const last = turn.rows.at(-1)?.seq ?? 0;
  return task.read.filter(({ row }) => row.seq >= first && row.seq <= last);
}

/** The terminal row that ended the turn, if one did. */
export function endingOf(task: TaskView, turn: TurnView): ReadRow | undefined {
  return readRowsOf(task, turn).find(({ state }) => state !== undefined && isTerminalName(state));
}

/** A turn that a sweeper ended. */
export interface SweptTurn {
  readonly task: TaskView;
  readonly turn: TurnView;
  readonly row: ReadRow;
  /** The name of the replica whose turn it was. */
  readonly replica: string;
}

/** All turns of readable tasks that sweepers ended. */
export function sweptTurns(view: HistoryView): SweptTurn[] {
  return [...view.tasks.values()].flatMap((task) =>
    task.poisoned
      ? []
      : task.turns.flatMap((turn) =>
          readRowsOf(task, turn)
            .filter(isSwept)
            .map((row) => ({ task, turn, row, replica: replicaOf(view, turn.holder) })),
        ),
  );
}

/** The lines of this kind that the agent wrote of a turn on its own replica. */
export function agentLines(
  view: HistoryView,
  of: { readonly task: TaskView; readonly turn: TurnView },
  msg: string,
): LogRecord[] {
  const { task, turn } = of;
  const replica = replicaOf(view, turn.holder);
  const next = task.turns.find(({ epoch }) => epoch > turn.epoch);
  const { databaseClockIsSteady: steady } = view.history;
  return task.logs.filter((line) => {
    if (line.msg !== msg || line.replica !== replica) return false;
    if (line.epoch !== undefined) return line.epoch === turn.epoch;
    // A new task has no epoch when its agent begins: then the time tells, and the first turn begins before its row.
    if (!steady || task.turns.length === 1) return true;
    const fromMs = turn.epoch === 1 ? 0 : turn.openedAtMs - CLOCK_SLACK_MS;
    const sameReplica = next !== undefined && replicaOf(view, next.holder) === replica;
    return line.atMs >= fromMs && (!sameReplica || line.atMs <= next.openedAtMs);
  });
}
