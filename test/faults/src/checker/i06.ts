import type { FaultKind, FaultRecord, Violation } from '../history/history.js';
import { CLOCK_SLACK_MS, endOf, faultsIn, totalMs } from './excuses.js';
import { AUTH_REQUIRED, INPUT_REQUIRED } from './states.js';
import { sweepDeadline } from './sweep-deadline.js';
import { AGENT_LINES, agentLines, endingOf, readRowsOf, sweptTurns, type SweptTurn } from './turns.js';
import type { HistoryView, TaskView, TurnView } from './view.js';

/** What keeps a replica from renewing, if it lasts. */
const HINDRANCES: readonly FaultKind[] = ['stop', 'cut_off', 'blocked', 'rows_locked', 'database_down'];

/** I6: the turns of a dead replica are ended in time, and no live holder is swept. */
export function checkI06(view: HistoryView): Violation[] {
  const { databaseClockIsSteady: steady } = view.history;
  const deaths = steady ? view.history.faults.filter(isDeath) : [];
  return [
    ...deaths.flatMap((death) => [...view.tasks.values()].flatMap((task) => checkDeath(view, death, task))),
    ...sweptTurns(view).flatMap((swept) => checkSwept(view, swept)),
  ];
}

function isDeath({ kind, toMs, replica }: FaultRecord): boolean {
  return replica !== null && (kind === 'kill' || (kind === 'stop' && toMs === null));
}

function checkDeath(view: HistoryView, death: FaultRecord, task: TaskView): Violation[] {
  if (task.poisoned) return [];
  const holder = view.replicas.get(death.replica ?? '')?.holder;
  return task.turns.flatMap((turn) => {
    if (turn.holder !== holder || !wasRunning(view, { task, turn }, death.fromMs)) return [];
    const dueMs = sweepDeadline(view, { atMs: death.fromMs, taskId: task.taskId });
    const ending = endingOf(task, turn);
    const endedAtMs = ending?.row.createdAtMs ?? Number.POSITIVE_INFINITY;
    if (endedAtMs <= dueMs + CLOCK_SLACK_MS || view.history.endedAtMs < dueMs) return [];
    const seen = ending
      ? `was ended at ${view.at(endedAtMs)} (seq ${ending.row.seq} of ${ending.row.holder})`
      : `was not ended until ${view.at(view.history.endedAtMs)}`;
    return [
      {
        invariant: 'I6',
        text: `turn ${turn.epoch} of ${death.replica}, which was gone at ${view.at(death.fromMs)}, ${seen}, due at ${view.at(dueMs)}`,
        taskId: task.taskId,
      },
    ];
  });
}

/** Whether the turn was still running at that moment, as far as the log can tell. */
function wasRunning(
  view: HistoryView,
  of: { readonly task: TaskView; readonly turn: TurnView },
  atMs: number,
): boolean {
  const { task, turn } = of;
  if (turn.openedAtMs > atMs) return false;
  const next = task.turns.find(({ epoch }) => epoch > turn.epoch);
  if (next && next.openedAtMs <= atMs) return false;
  const ending = endingOf(task, turn);
  if (ending && ending.row.createdAtMs <= atMs) return false;
  const said = readRowsOf(task, turn).filter(
    ({ row, event }) => row.createdAtMs <= atMs && event.kind !== 'message',
  );
  const state = said.findLast((each) => each.state !== undefined)?.state;
  // A task that waits for its client is let go when its agent returns, which is no event.
  if (state === INPUT_REQUIRED) return false;
  if (state !== AUTH_REQUIRED) return true;
  const began = agentLines(view, of, AGENT_LINES.began).length > 0;
  const returned = agentLines(view, of, AGENT_LINES.returned).some(
    (line) => line.atMs <= atMs + CLOCK_SLACK_MS,
  );
  return began && !returned;
}

/** A holder that was swept must have been kept from renewing in the last TTL before its lease expired. */
function checkSwept(view: HistoryView, { task, turn, row, replica }: SweptTurn): Violation[] {
  const { settings, databaseAheadMs, databaseClockIsSteady: steady } = view.history;
  const sweptAtMs = row.row.createdAtMs;
  const expiredAtMs = row.expiredAtMs === undefined ? sweptAtMs : row.expiredAtMs - databaseAheadMs;
  // A beat that lands after its sender has given up lets the lease expire later, and saves nothing.
  const gaveUpAtMs = agentLines(view, { task, turn }, AGENT_LINES.fired)[0]?.atMs ?? expiredAtMs;
  const beatAtMs = Math.min(expiredAtMs, gaveUpAtMs + settings.marginMs) - settings.ttlMs;
  // Without a beat it is trusted from when its opening was first sent, which may have taken long.
  const neverRenewed = expiredAtMs <= turn.openedAtMs + settings.ttlMs + CLOCK_SLACK_MS;
  const began = neverRenewed ? agentLines(view, { task, turn }, AGENT_LINES.began)[0] : undefined;
  const trustedAtMs = Math.min(beatAtMs, began?.atMs ?? beatAtMs);
  const fromMs = steady ? trustedAtMs - CLOCK_SLACK_MS : view.history.beganAtMs;
  const toMs = steady ? expiredAtMs + CLOCK_SLACK_MS : view.history.endedAtMs;
  const query = { replica, fromMs, toMs, taskId: task.taskId };
  if (faultsIn(view, { ...query, kinds: ['kill', 'statements', 'released'] }).length > 0) return [];
  if (faultsIn(view, { ...query, kinds: ['terminate'] }).length > 1) return [];
  const hindered = faultsIn(view, { ...query, kinds: HINDRANCES });
  if (totalMs(hindered) >= settings.survivableMs) return [];
  const told =
    hindered.length === 0
      ? 'no fault kept it from renewing'
      : `only ${hindered.map(({ kind, fromMs: a, ...rest }) => `${kind} ${view.at(a)} to ${view.at(endOf({ kind, fromMs: a, ...rest }))}`).join(', ')}, less than the ${settings.survivableMs} ms it must survive`;
  return [
    {
      invariant: 'I6',
      text:
        `a live holder was swept: turn ${turn.epoch} of ${replica} (seq ${row.row.seq} by ${row.row.holder} at ${view.at(sweptAtMs)}, ` +
        `lease expired at ${view.at(expiredAtMs)}): ${told}`,
      taskId: task.taskId,
    },
  ];
}
