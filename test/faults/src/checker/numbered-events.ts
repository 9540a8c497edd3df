import type { Part } from '@a2a-js/sdk';
import type { ReadRow } from './read-row.js';
import type { TaskView } from './view.js';

/**
 * The demo agent numbers what it says: ticks `tick 2/5`, parts of an artifact `[2]....`. Within one epoch each number
 * stands in the log once, in order, without a gap up to the last. A step may come again: it starts at 1 anew. And no
 * message of an agent is stored twice.
 */
export function checkNumbers(task: TaskView): string[] {
  const byEpoch = new Map<number, ReadRow[]>();
  for (const read of task.read) {
    const rows = byEpoch.get(read.row.epoch);
    if (rows) rows.push(read);
    else byEpoch.set(read.row.epoch, [read]);
  }
  const numbered = [...byEpoch.values()].flatMap((rows) => [...checkTicks(rows), ...checkChunks(rows)]);
  return [...numbered, ...checkMessages(task)];
}

function* checkTicks(rows: readonly ReadRow[]): Generator<string> {
  let last = { number: 0, of: 0 };
  for (const { event, row } of rows) {
    if (event.kind !== 'statusUpdate') continue;
    const [, number, of] = /^tick (\d+)\/(\d+)$/.exec(textOf(event.data.status?.message?.parts)) ?? [];
    if (number === undefined || of === undefined) continue;
    const now = { number: Number(number), of: Number(of) };
    const goesOn = now.of === last.of && now.number === last.number + 1;
    const anew = now.number === 1 && last.number === last.of;
    if (!goesOn && !anew)
      yield `seq ${row.seq}, epoch ${row.epoch}: tick ${number}/${of} after ${last.number}/${last.of}`;
    last = now;
  }
}

function* checkChunks(rows: readonly ReadRow[]): Generator<string> {
  let last: number | null = 0;
  for (const { event, row } of rows) {
    if (event.kind !== 'artifactUpdate') continue;
    const found = /^\[(\d+)\]/.exec(textOf(event.data.artifact?.parts));
    const number: number | null = found ? Number(found[1]) : null;
    const expected: number | null = !event.data.append ? 1 : last === null ? null : last + 1;
    // A part that is too short for its number says nothing, nor does the one after it.
    if (number !== null && expected !== null && number !== expected)
      yield `seq ${row.seq}, epoch ${row.epoch}: chunk [${number}] where [${expected}] belongs`;
    last = number;
  }
}

function* checkMessages(task: TaskView): Generator<string> {
  const first = new Map<string, number>();
  for (const { event, row } of task.read) {
    const id = event.kind === 'statusUpdate' ? event.data.status?.message?.messageId : undefined;
    if (!id) continue;
    const other = first.get(id);
    if (other === undefined) first.set(id, row.seq);
    else yield `seq ${row.seq} and seq ${other} are the same status message ${id}`;
  }
}

function textOf(parts: readonly Part[] | undefined): string {
  const content = parts?.[0]?.content;
  return content?.$case === 'text' ? content.value : '';
}
