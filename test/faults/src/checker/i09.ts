import type { CallRecord, FaultKind, Violation } from '../history/history.js';
import { CLOCK_SLACK_MS, faultsIn } from './excuses.js';
import { CANCELED } from './states.js';
import { AGENT_LINES, agentLines, endingOf } from './turns.js';
import { replicaOf, type HistoryView, type TaskView, type TurnView } from './view.js';

/** What may make a cancel take longer. */
const DELAYS: readonly FaultKind[] = [
  'kill',
  'terminate',
  'stop',
  'cut_off',
  'blocked',
  'rows_locked',
  'statements',
  'database_down',
  'connections',
];

/** I9: nothing follows CANCELED, the agent is told in time, and CANCELED stands in time. */
export function checkI09(view: HistoryView): Violation[] {
  return [...view.tasks.values()].flatMap((task) => {
    const cancels = task.calls.filter(({ method, error, answeredAtMs }) => {
      return method === 'CancelTask' && error === null && answeredAtMs !== null;
    });
    const texts = [...checkSilence(task), ...cancels.flatMap((call) => checkCancel(view, task, call))];
    return texts.map((text) => ({ invariant: 'I9', text, taskId: task.taskId }));
  });
}

function checkSilence(task: TaskView): string[] {
  const canceled = task.read.find(({ state }) => state === CANCELED);
  const later = canceled && task.events.find(({ seq }) => seq > canceled.row.seq);
  return later ? [`seq ${later.seq} of ${later.holder} after CANCELED at seq ${canceled.row.seq}`] : [];
}

function checkCancel(view: HistoryView, task: TaskView, call: CallRecord): string[] {
  if (task.poisoned || task.events.length === 0) return [];
  const asked = `the cancel of ${view.at(call.sentAtMs)} on ${call.replica}`;
  if (call.state !== CANCELED) return [`${asked} was answered ${call.state} and no error`];
  const turn = task.turns.at(-1);
  const ending = turn && endingOf(task, turn);
  if (turn === undefined || ending?.state !== CANCELED)
    return [
      `${asked} was answered CANCELED, but the task is ${task.read.at(-1)?.state ?? 'unknown'} in the log`,
    ];
  if (!view.history.databaseClockIsSteady) return [];
  const { row } = ending;
  // What was cancelled before is only told again.
  if (row.createdAtMs < call.sentAtMs - CLOCK_SLACK_MS) return [];
  const found = checkSignal(view, { task, turn, call }).map((text) => `${asked}: ${text}`);
  const dueMs = standsBy(view, { task, turn, call });
  if (row.createdAtMs > dueMs + CLOCK_SLACK_MS)
    found.push(
      `${asked}: CANCELED stands at ${view.at(row.createdAtMs)} (seq ${row.seq} of ${row.holder}), due by ${view.at(dueMs)}`,
    );
  return found;
}

interface Cancel {
  readonly task: TaskView;
  readonly turn: TurnView;
  readonly call: CallRecord;
}

function delays(view: HistoryView, { task, turn, call }: Cancel, toMs: number): boolean {
  const names = [call.replica, replicaOf(view, turn.holder)];
  return names.some(
    (replica) =>
      faultsIn(view, { kinds: DELAYS, replica, fromMs: call.sentAtMs, toMs, taskId: task.taskId }).length > 0,
  );
}

function standsBy(view: HistoryView, cancel: Cancel): number {
  const { cancelGraceMs, ttlMs } = view.history.settings;
  const dueMs = cancel.call.sentAtMs + cancelGraceMs + 1_000;
  return delays(view, cancel, dueMs) ? dueMs + ttlMs : dueMs;
}

/** A running agent is told within a heartbeat and a second of the mark. */
function checkSignal(view: HistoryView, cancel: Cancel): string[] {
  const { task, turn, call } = cancel;
  const dueMs = call.sentAtMs + view.history.settings.heartbeatMs + 1_000;
  const of = { task, turn };
  const began = agentLines(view, of, AGENT_LINES.began).some(({ atMs }) => atMs <= call.sentAtMs);
  if (!began || delays(view, cancel, dueMs)) return [];
  const told = [AGENT_LINES.fired, AGENT_LINES.returned].flatMap((msg) => agentLines(view, of, msg));
  if (told.some(({ atMs }) => atMs <= dueMs)) return [];
  const [first] = told.map(({ atMs }) => atMs).sort((a, b) => a - b);
  const seen = first === undefined ? 'was never told' : `was told at ${view.at(first)} only`;
  return [
    `the agent of turn ${turn.epoch} on ${replicaOf(view, turn.holder)} ${seen}, due by ${view.at(dueMs)}`,
  ];
}
