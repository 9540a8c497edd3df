import { isTerminalName } from '@a2a-cluster/core';
import type { StreamRecord } from '../history/history.js';
import { brief } from './brief.js';
import { shownForm, type ReadRow } from './read-row.js';
import { INPUT_REQUIRED, stateAt } from './states.js';
import type { TaskView, TurnView } from './view.js';

/** The piece of the log that a stream had to show, from where it began up to its end. */
export interface Piece {
  /** The turn it follows; null for a subscription. */
  readonly turn: TurnView | null;
  /** Whether the first frame is the task as it was, and no row. */
  readonly startsWithTask: boolean;
  readonly rows: readonly ReadRow[];
  /** The row that ends the stream, always the last; null: there is none (yet). */
  readonly endsAt: ReadRow | null;
}

/** The piece that fits the frames, or what is wrong with them. */
export function pieceOf(task: TaskView, stream: StreamRecord): Piece | string {
  const shown = stream.frames.map(({ event }) => shownForm(event));
  const pieces = stream.method === 'SubscribeToTask' ? subscribed(task, shown) : sent(task, stream);
  if (typeof pieces === 'string') return pieces;
  const fitting = pieces.filter((piece) => matched(piece, shown) === shown.length);
  if (fitting[0]) return best(fitting, stream);
  return explain(task, stream, { pieces, shown });
}

/** Where frames fit in several places, the one that is complete as the stream is. */
function best(fitting: readonly Piece[], stream: StreamRecord): Piece {
  const full = fitting.find(
    ({ rows, startsWithTask }) => rows.length + Number(startsWithTask) === stream.frames.length,
  );
  return full ?? (fitting[0] as Piece);
}

/** How many of the frames the piece accounts for. */
function matched(piece: Piece, shown: readonly string[]): number {
  const offset = Number(piece.startsWithTask);
  const at = shown.findIndex(
    (frame, index) => index >= offset && frame !== piece.rows[index - offset]?.shown,
  );
  return at === -1 ? shown.length : at;
}

/** The rows from after a seq that a stream shows: up to the first that ends it. */
function upToEnd(
  task: TaskView,
  after: number,
  only: (row: ReadRow) => boolean,
): Omit<Piece, 'startsWithTask' | 'turn'> {
  const rows: ReadRow[] = [];
  let state = stateAt(task, after);
  for (const read of task.read) {
    if (read.row.seq <= after || read.shown === null || !only(read)) continue;
    rows.push(read);
    if (ends(read, state)) return { rows, endsAt: read };
    state = read.state ?? state;
  }
  return { rows, endsAt: null };
}

/** A terminal state, or input required; a task event that repeats the state it found says nothing. */
function ends({ event, state }: ReadRow, before: string): boolean {
  if (state === undefined) return false;
  if (isTerminalName(state)) return true;
  return state === INPUT_REQUIRED && !(event.kind === 'task' && before === state);
}

/** Where a subscription may have begun: at every version whose task is the first frame. */
function subscribed(task: TaskView, shown: readonly string[]): Piece[] | string {
  const [first, second] = shown;
  if (first === undefined) return [];
  const begins = task.versionsOf(first);
  if (begins.length === 0) return 'its first frame is not the task at any version of the log';
  const fitting = begins.filter((seq) => second === undefined || nextShown(task, seq)?.shown === second);
  if (fitting.length === 0) {
    const next = begins.map((seq) => nextShown(task, seq)?.row.seq ?? 'nothing');
    return `it began at version ${begins.join(' or ')}, but its second frame is not seq ${next.join(' or ')}`;
  }
  return fitting.map((seq) => ({ turn: null, startsWithTask: true, ...upToEnd(task, seq, () => true) }));
}

function nextShown(task: TaskView, after: number): ReadRow | undefined {
  return task.read.find(({ row, shown }) => row.seq > after && shown !== null);
}

/** A send shows its turn; the same message sent again shows the task as the turn found it, then the turn. */
function sent(task: TaskView, stream: StreamRecord): Piece[] | string {
  const turns = task.turns.filter((turn) => isOpenedBy(task, turn, stream.messageId));
  if (turns.length === 0) return `no turn in the log was opened by its message ${stream.messageId}`;
  return turns.flatMap((turn) => {
    const ofTurn = ({ row }: ReadRow): boolean => row.epoch === turn.epoch;
    const before = turn.epoch === 1 ? 0 : turn.epoch;
    const first: Piece = { turn, startsWithTask: false, ...upToEnd(task, before, ofTurn) };
    if (task.foldedAt(turn.epoch) !== shownForm(stream.frames[0]?.event ?? {})) return [first];
    return [first, { turn, startsWithTask: true, ...upToEnd(task, turn.epoch, ofTurn) }];
  });
}

function isOpenedBy(task: TaskView, turn: TurnView, messageId: string | null): boolean {
  const opening = turn.rows[0];
  if (opening === undefined) return false;
  if (opening.messageId === messageId) return true;
  // A message whose id an earlier one has stands under a key of its own.
  const event = task.read.find(({ row }) => row === opening)?.event;
  return event?.kind === 'message' && event.data.messageId === messageId;
}

interface Misfit {
  readonly pieces: readonly Piece[];
  readonly shown: readonly string[];
}

/** What is wrong with frames that no piece of the log explains, told by the piece that explains most of them. */
function explain(task: TaskView, stream: StreamRecord, { pieces, shown }: Misfit): string {
  const [nearest] = [...pieces].sort((a, b) => matched(b, shown) - matched(a, shown));
  if (nearest === undefined) return 'it shows frames of no piece of the log';
  const index = matched(nearest, shown);
  const frame = stream.frames[index];
  const expected = nearest.rows[index - Number(nearest.startsWithTask)];
  const seqs = task.read.filter((read) => read.shown === shown[index]).map(({ row }) => row.seq);
  const what = `frame ${index + 1} (${frame ? brief(frame.event) : ''}) is ${seqs.length > 0 ? `seq ${seqs.join(' or ')}` : 'no row'}`;
  if (expected) return `${what} where seq ${expected.row.seq} belongs`;
  return `${what}, after ${nearest.endsAt ? `seq ${nearest.endsAt.row.seq} ended the stream` : 'the last row of the piece'}`;
}
