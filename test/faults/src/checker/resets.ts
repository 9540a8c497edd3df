import type { Frame } from '../history/history.js';
import { CLOCK_SLACK_MS } from './excuses.js';
import { shownForm } from './read-row.js';
import { unmarked, type StreamView } from './reset-frame.js';
import { pieceOf } from './stream-piece.js';
import type { HistoryView, TaskView } from './view.js';

/**
 * What is wrong with a stream that was reset: it shows a gapless piece of the log; the row after it was pruned by then;
 * the reset is the whole task as of its last event; and the stream is over.
 */
export function checkReset(view: HistoryView, stream: StreamView, task: TaskView): string[] {
  const { reset, ended } = stream;
  if (reset === null) return [];
  const told = `it was reset at ${view.at(reset.atMs)} after ${stream.frames.length} frames`;
  const texts = checkWhole(reset, task).map((text) => `${told}, ${text}`);
  texts.push(...checkPlace(stream, reset, task).map((text) => `${told}, ${text}`));
  if (ended === null && view.history.endedAtMs - reset.atMs > CLOCK_SLACK_MS)
    texts.push(`${told}, and is still open`);
  if (ended !== null && ended.how !== 'complete' && ended.how !== 'left')
    texts.push(`${told}, and then was ${ended.how}`);
  return texts;
}

function checkWhole(reset: Frame, task: TaskView): string[] {
  const last = task.events.at(-1)?.seq ?? 0;
  return shownForm(unmarked(reset.event)) === task.foldedAt(last)
    ? []
    : [`but not with the task as of its last event, seq ${last}`];
}

function checkPlace(stream: StreamView, reset: Frame, task: TaskView): string[] {
  const prunedBy = (atMs: number | undefined): boolean =>
    atMs !== undefined && atMs <= reset.atMs + CLOCK_SLACK_MS;
  if (stream.frames.length === 0)
    return task.events.some(({ prunedAtMs }) => prunedBy(prunedAtMs)) ? [] : ['but nothing was pruned'];
  const piece = pieceOf(task, stream);
  if (typeof piece === 'string') return [piece];
  const next = piece.rows[stream.frames.length - Number(piece.startsWithTask)];
  if (next === undefined) return ['but it had seen all there was'];
  return prunedBy(next.row.prunedAtMs) ? [] : [`but seq ${next.row.seq} was in the log`];
}
