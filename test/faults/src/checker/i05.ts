import type { FaultKind, StreamRecord, Violation } from '../history/history.js';
import { endOf, faultsIn, latestEnd } from './excuses.js';
import type { StreamView } from './reset-frame.js';
import { checkReset } from './resets.js';
import { pieceOf, type Piece } from './stream-piece.js';
import { isTerminalRow } from './states.js';
import type { HistoryView, TaskView } from './view.js';

/** How long the end of a task may take to reach those who are connected. */
const GRACE_MS = 2_000;
/** A replica that could not read for so long ends its streams with an error. */
const WATCHDOG_MS = 30_000;

const BREAKS: readonly FaultKind[] = [
  'kill',
  'terminate',
  'stop',
  'cut_off',
  'database_down',
  'statements',
  'connections',
];
const DELAYS: readonly FaultKind[] = [
  'stop',
  'cut_off',
  'blocked',
  'database_down',
  'statements',
  'connections',
  'hints',
  'rows_locked',
];

/** I5: every stream shows a gapless piece of the log, and those who stayed connected saw the end. */
export function checkI05(view: HistoryView): Violation[] {
  const named = [...view.tasks.values()].flatMap((task) =>
    task.poisoned ? [] : task.streams.flatMap((stream) => checkStream(view, stream, task)),
  );
  const unnamed = view.history.streams.flatMap((stream) =>
    stream.taskId === null ? checkSilent(view, stream).map((text) => violation(stream, text)) : [],
  );
  return [...named, ...unnamed];
}

function checkStream(view: HistoryView, stream: StreamView, task: TaskView): Violation[] {
  if (stream.reset !== null) return checkReset(view, stream, task).map((text) => violation(stream, text));
  if (stream.frames.length === 0) return checkSilent(view, stream).map((text) => violation(stream, text));
  // An answer that is a message makes no event; a task that is not in the log at all is told by I4.
  if (stream.frames.some(({ event }) => event.message) || task.events.length === 0) return [];
  const piece = pieceOf(task, stream);
  if (typeof piece === 'string') return [violation(stream, piece)];
  return checkEnd(view, { stream, piece, task }).map((text) => violation(stream, text));
}

/** A stream that showed nothing: a refusal has an error, and a broken one a cause. */
function checkSilent(view: HistoryView, stream: StreamRecord): string[] {
  const { ended, frames } = stream;
  if (ended === null || frames.length > 0) return [];
  if (ended.how === 'complete' && !isDrained(view, stream))
    return [`it ended at ${view.at(ended.atMs)} without a word`];
  return ended.how === 'broken' ? checkBroken(view, stream) : [];
}

interface Shown {
  readonly stream: StreamRecord;
  readonly piece: Piece;
  readonly task: TaskView;
}

function checkEnd(view: HistoryView, shown: Shown): string[] {
  const { stream, piece } = shown;
  const { ended, frames } = stream;
  const whole = frames.length === piece.rows.length + Number(piece.startsWithTask);
  const sawEnd = whole && piece.endsAt !== null;
  if (sawEnd) return [...checkLateness(view, shown), ...checkStillOpen(view, shown)];
  if (ended === null) return checkForgotten(view, shown);
  switch (ended.how) {
    case 'left':
      return [];
    case 'complete':
      return isDrained(view, stream) ? [] : checkComplete(view, shown, whole);
    default:
      return checkBroken(view, stream);
  }
}

/** The server ended it, but no rule of the protocol did. */
function checkComplete(view: HistoryView, { stream, piece, task }: Shown, whole: boolean): string[] {
  const told = `it was ended at ${view.at(stream.ended?.atMs ?? 0)} after ${stream.frames.length} frames`;
  if (!whole) {
    const next = piece.rows[stream.frames.length - Number(piece.startsWithTask)];
    return [`${told}, before seq ${next?.row.seq} ${next?.state ?? next?.event.kind}`];
  }
  if (piece.turn === null) return [`${told}, and nothing in the log ends a subscription there`];
  const held = task.lease !== null && task.lease.epoch === piece.turn.epoch;
  return held ? [`${told}, but its turn ${piece.turn.epoch} still holds its lease at the end`] : [];
}

function checkBroken(view: HistoryView, stream: StreamRecord): string[] {
  const { ended, openedAtMs, replica } = stream;
  if (ended === null) return [];
  const fromMs = Math.max(openedAtMs, ended.atMs - WATCHDOG_MS - view.history.settings.renewalTimeoutMs);
  if (faultsIn(view, { kinds: BREAKS, replica, fromMs, toMs: ended.atMs + 500 }).length > 0) return [];
  const why = ended.error ? `error ${ended.error.code} ${ended.error.message}` : (ended.detail ?? '');
  return [
    `it was ${ended.how} at ${view.at(ended.atMs)} after ${stream.frames.length} frames and no fault explains it (${why})`,
  ];
}

/** Open although the row that ends it was stored long before anybody stopped listening. */
function checkForgotten(view: HistoryView, { stream, piece, task }: Shown): string[] {
  const { endedAtMs, databaseClockIsSteady } = view.history;
  const end = piece.endsAt ?? task.read.find(isTerminalRow);
  if (end === undefined || !databaseClockIsSteady) return [];
  const dueMs = dueAt(view, stream, end.row.createdAtMs);
  if (dueMs > endedAtMs) return [];
  return [
    `it never saw seq ${end.row.seq} ${end.state} of ${view.at(end.row.createdAtMs)}: it has ${stream.frames.length} frames ` +
      `and is open at ${view.at(endedAtMs)}`,
  ];
}

function checkStillOpen(view: HistoryView, { stream, piece }: Shown): string[] {
  const last = stream.frames.at(-1);
  if (stream.ended !== null || last === undefined) return [];
  const dueMs = dueAt(view, stream, last.atMs);
  if (dueMs > view.history.endedAtMs) return [];
  return [`it is still open, although seq ${piece.endsAt?.row.seq} ended it at ${view.at(last.atMs)}`];
}

function checkLateness(view: HistoryView, { stream, piece }: Shown): string[] {
  const last = stream.frames.at(-1);
  if (!view.history.databaseClockIsSteady || last === undefined || piece.endsAt === null) return [];
  const storedAtMs = piece.endsAt.row.createdAtMs;
  // A repetition shows what had ended before it was asked for.
  const sinceMs = storedAtMs > stream.openedAtMs ? storedAtMs : (stream.frames[0]?.atMs ?? storedAtMs);
  if (last.atMs <= dueAt(view, stream, sinceMs)) return [];
  return [
    `it saw the end, seq ${piece.endsAt.row.seq} of ${view.at(storedAtMs)}, at ${view.at(last.atMs)} only`,
  ];
}

/** By when what was stored at a moment must have been seen: soon, or soon after what delayed it. */
function dueAt(view: HistoryView, stream: StreamRecord, storedAtMs: number): number {
  const { settings } = view.history;
  const toMs = storedAtMs + GRACE_MS;
  const gone = faultsIn(view, {
    kinds: ['kill', 'terminate'],
    replica: stream.replica,
    fromMs: stream.openedAtMs,
    toMs,
  });
  if (gone.length > 0 || misbehaves(view, stream)) return Number.POSITIVE_INFINITY;
  const delays = faultsIn(view, {
    kinds: DELAYS,
    replica: stream.replica,
    fromMs: storedAtMs - GRACE_MS,
    toMs,
    ...(stream.taskId === null ? {} : { taskId: stream.taskId }),
  });
  if (delays.length === 0) return storedAtMs + GRACE_MS;
  return latestEnd(delays, storedAtMs) + settings.ttlMs + 1_000;
}

/** A client that does not read does not see; its fault names the stream or its task. */
function misbehaves(view: HistoryView, { id, taskId }: StreamRecord): boolean {
  return view.history.faults.some(
    ({ kind, detail }) =>
      kind === 'client' && (detail.includes(id) || (taskId !== null && detail.includes(taskId))),
  );
}

/** The replica was closing: it ends streams, and clients go on elsewhere. */
function isDrained(view: HistoryView, { ended, replica }: StreamRecord): boolean {
  return view.history.faults.some(
    (fault) =>
      fault.kind === 'terminate' &&
      fault.replica === replica &&
      ended !== null &&
      fault.fromMs <= ended.atMs &&
      endOf(fault) >= ended.atMs,
  );
}

function violation(stream: StreamRecord, text: string): Violation {
  const { id, method, replica, taskId } = stream;
  return {
    invariant: 'I5',
    text: `stream ${id} (${method} on ${replica}): ${text}`,
    ...(taskId ? { taskId } : {}),
  };
}
