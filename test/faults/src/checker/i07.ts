import type { Violation } from '../history/history.js';
import { CLOCK_SLACK_MS, endOf, faultsIn } from './excuses.js';
import { AGENT_LINES, agentLines, sweptTurns, type SweptTurn } from './turns.js';
import type { HistoryView } from './view.js';

/** How long a line of the log may take to reach the harness. */
const LINE_MS = 250;
/** How long a process that runs again may take to its first timer phase, and the line to the harness. */
const AWAKE_MS = 500;

/** I7: a holder that lost its lease is told before anyone else may end its turn, or as soon as it runs again. */
export function checkI07(view: HistoryView): Violation[] {
  return sweptTurns(view).flatMap((swept) => checkSignal(view, swept));
}

function checkSignal(view: HistoryView, swept: SweptTurn): Violation[] {
  const { task, turn, row, replica } = swept;
  const sweptAtMs = row.row.createdAtMs;
  // An agent that was never called, and one that is no agent of the harness, wrote no line.
  if (agentLines(view, swept, AGENT_LINES.began).length === 0) return [];
  const dueMs = dueAt(view, swept);
  if (dueMs === Number.POSITIVE_INFINITY || dueMs > view.history.endedAtMs) return [];
  const lines = [
    ...agentLines(view, swept, AGENT_LINES.fired),
    ...agentLines(view, swept, AGENT_LINES.returned),
  ];
  if (lines.some(({ atMs }) => atMs <= dueMs)) return [];
  const first = lines.map(({ atMs }) => atMs).sort((a, b) => a - b)[0];
  const seen = first === undefined ? 'did not fire' : `fired at ${view.at(first)} only`;
  return [
    {
      invariant: 'I7',
      text: `the signal of turn ${turn.epoch} on ${replica} ${seen}; its turn was swept at ${view.at(sweptAtMs)} (seq ${row.row.seq}), so it was due by ${view.at(dueMs)}`,
      taskId: task.taskId,
    },
  ];
}

function dueAt(view: HistoryView, { row, replica }: SweptTurn): number {
  const { databaseClockIsSteady: steady, endedAtMs } = view.history;
  const sweptAtMs = row.row.createdAtMs;
  const deadBy = steady ? sweptAtMs + LINE_MS : endedAtMs;
  const boot = view.replicas.get(replica);
  const killed = faultsIn(view, { kinds: ['kill'], replica, fromMs: 0, toMs: deadBy }).length > 0;
  if (killed || boot === undefined || (boot.exitedAtMs !== null && boot.exitedAtMs <= deadBy))
    return Number.POSITIVE_INFINITY;
  // Without times of the database only that it fires is asked for.
  if (!steady) return endedAtMs;
  const asleep = faultsIn(view, {
    kinds: ['stop', 'blocked'],
    replica,
    fromMs: sweptAtMs - CLOCK_SLACK_MS,
    toMs: sweptAtMs + CLOCK_SLACK_MS,
  });
  const { heartbeatMs, renewalTimeoutMs } = view.history.settings;
  const released = faultsIn(view, { kinds: ['released'], replica, fromMs: sweptAtMs, toMs: sweptAtMs });
  const heardMs = released.length > 0 ? heartbeatMs + renewalTimeoutMs : 0;
  return Math.max(sweptAtMs + heardMs + LINE_MS, ...asleep.map((fault) => endOf(fault) + AWAKE_MS));
}
