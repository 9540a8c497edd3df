import type { EventRow, Violation, WireEvent } from '../history/history.js';
import { brief } from './brief.js';
import { CLOCK_SLACK_MS } from './excuses.js';
import { checkNumbers } from './numbered-events.js';
import { shownForm, type ReadRow } from './read-row.js';
import type { HistoryView, TaskView } from './view.js';

/** I4: what anybody was shown is in the log, and was before it was shown; nothing is in the log twice. */
export function checkI04(view: HistoryView): Violation[] {
  const found = [...checkWriteIds(view)];
  for (const task of view.tasks.values()) {
    const { taskId } = task;
    const texts = [...checkStored(task), ...checkReadable(task)];
    if (!task.poisoned)
      texts.push(...checkSeen(view, task), ...checkAnswers(view, task), ...checkNumbers(task));
    found.push(...texts.map((text) => ({ invariant: 'I4', text, taskId })));
  }
  return found;
}

function* checkWriteIds(view: HistoryView): Generator<Violation> {
  const first = new Map<string, EventRow>();
  for (const row of view.history.tables.events) {
    const { taskId, seq, writeId } = row;
    const other = first.get(writeId);
    if (other === undefined) first.set(writeId, row);
    else
      yield {
        invariant: 'I4',
        text: `write id ${writeId} stands at seq ${seq} and at seq ${other.seq} of ${other.taskId}`,
        taskId,
      };
  }
}

/** What was seen of a task that is not in the log at all. */
function checkStored(task: TaskView): string[] {
  if (task.events.length > 0) return [];
  const frames = task.streams.reduce((sum, { frames: { length } }) => sum + length, 0);
  const states = task.calls.filter(({ state }) => state !== null).length;
  const seen = frames + states + task.pushes.length;
  if (seen === 0) return [];
  return [
    `the log has no event of it, but it was seen: ${frames} frames, ${states} answers, ${task.pushes.length} pushes`,
  ];
}

function checkReadable(task: TaskView): string[] {
  if (task.poisoned || task.read.length === task.events.length) return [];
  const readable = new Set(task.read.map(({ row }) => row));
  const bad = task.events.filter((row) => !readable.has(row)).map(({ seq, kind }) => `${seq} (${kind})`);
  return [`the payload of seq ${bad.join(', ')} cannot be read`];
}

interface Sighting {
  readonly by: string;
  readonly atMs: number;
  readonly event: WireEvent;
}

function sightings(task: TaskView): Sighting[] {
  const frames = task.streams.flatMap(({ id, frames: all }) =>
    all.map(({ atMs, event }, index) => ({ by: `frame ${index + 1} of stream ${id}`, atMs, event })),
  );
  const pushes = task.pushes.map(({ hook, atMs, event }) => ({ by: `a push to ${hook}`, atMs, event }));
  return [...frames, ...pushes];
}

function checkSeen(view: HistoryView, task: TaskView): string[] {
  if (task.events.length === 0) return [];
  const rows = new Map<string, ReadRow>();
  for (const read of task.read) if (read.shown !== null && !rows.has(read.shown)) rows.set(read.shown, read);
  const found: string[] = [];
  for (const { by, atMs, event } of sightings(task)) {
    if (event.message) continue;
    const row = rows.get(shownForm(event));
    if (row === undefined) {
      // The first frame of a subscription is no row but a fold, and is compared by I5; its state must have been.
      const state = event.task?.status.state;
      if (state !== undefined && task.read.some((each) => each.state === state)) continue;
      found.push(`${by} (${view.at(atMs)}) shows what is not in the log: ${brief(event)}`);
    } else if (view.history.databaseClockIsSteady && row.row.createdAtMs > atMs + CLOCK_SLACK_MS) {
      found.push(
        `${by} shows seq ${row.row.seq} at ${view.at(atMs)}, stored at ${view.at(row.row.createdAtMs)} only`,
      );
    }
  }
  return found;
}

function checkAnswers(view: HistoryView, task: TaskView): string[] {
  if (task.events.length === 0) return [];
  const { databaseClockIsSteady: steady } = view.history;
  return task.calls.flatMap(({ method, state, answeredAtMs, replica }) => {
    if (state === null || answeredAtMs === null) return [];
    const first = task.read.find((each) => each.state === state);
    const told = `${method} on ${replica} was answered ${state} at ${view.at(answeredAtMs)}`;
    if (first === undefined) return [`${told}, which the task never was`];
    if (steady && first.row.createdAtMs > answeredAtMs + CLOCK_SLACK_MS)
      return [`${told}, which it was from seq ${first.row.seq} at ${view.at(first.row.createdAtMs)} on`];
    return [];
  });
}
