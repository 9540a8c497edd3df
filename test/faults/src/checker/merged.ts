import type { EventRow, History, PushRecord } from '../history/history.js';
import { brief } from './brief.js';
import { readRow } from './read-row.js';

interface Line {
  readonly atMs: number;
  readonly text: string;
}

/** Every line about one task in the order of time, relative to the beginning: what a person reads of a failed run. */
export function mergedHistory(history: History, taskId: string): string[] {
  const lines = [
    ...rowLines(history, taskId),
    ...streamLines(history, taskId),
    ...callLines(history, taskId),
    ...history.pushes
      .filter((push) => push.taskId === taskId)
      .map((push) => ({ atMs: push.atMs, text: pushText(push) })),
    ...history.logs
      .filter((line) => line.taskId === taskId)
      .map(({ atMs, replica, level, msg, epoch, fields }) => ({
        atMs,
        text: `log ${replica} ${level}: ${msg}${epoch === undefined ? '' : ` epoch ${epoch}`} ${JSON.stringify(fields)}`,
      })),
    ...faultLines(history),
  ];
  return lines
    .sort((a, b) => a.atMs - b.atMs)
    .map(({ atMs, text }) => `${stamp(history, atMs)}  ${oneLine(text)}`);
}

function rowLines(history: History, taskId: string): Line[] {
  const rows = history.tables.events.filter((row) => row.taskId === taskId);
  const events = rows.map((row) => ({ atMs: row.createdAtMs, text: rowText(row) }));
  const task = history.tables.tasks.find((row) => row.taskId === taskId);
  const lease = history.tables.leases.find((row) => row.taskId === taskId);
  const configs = history.tables.pushConfigs
    .filter((config) => config.taskId === taskId)
    .map(({ createdAtMs, url, ...row }) => ({
      atMs: createdAtMs,
      text: `push config ${row.configId} ${url}, in the end ${row.status} at ${row.position}, holder ${row.holder}`,
    }));
  const atMs = history.endedAtMs;
  const end = task ? `task row: ${task.state}, version ${task.version}, owner ${task.owner}` : 'no task row';
  const held = lease
    ? `lease row: ${lease.holder}, epoch ${lease.epoch}${lease.pending ? ', pending' : ''}, until ${stamp(history, lease.expiresAtMs)}`
    : 'no lease row';
  return [...events, ...configs, { atMs, text: end }, { atMs, text: held }];
}

function pushText({ hook, id, event, answer, atMs, answeredAtMs }: PushRecord): string {
  const told =
    answer === null ? 'under way' : `${answer} after ${Math.round((answeredAtMs ?? atMs) - atMs)} ms`;
  return `push to ${hook}: ${brief(event)}, id ${id}, ${told}`;
}

function rowText(row: EventRow): string {
  const { seq, kind, holder, epoch } = row;
  const read = readRow(row);
  const said = read?.shown
    ? brief(JSON.parse(read.shown) as Parameters<typeof brief>[0])
    : read
      ? ''
      : 'UNREADABLE';
  const reason = read?.reason ? ` (${read.reason})` : '';
  return `event seq ${seq} ${kind} ${said}${reason}  by ${holder}, epoch ${epoch}`;
}

function streamLines(history: History, taskId: string): Line[] {
  return history.streams
    .filter((stream) => stream.taskId === taskId)
    .flatMap(({ id, method, replica, owner, messageId, openedAtMs, frames, ended }) => {
      const opened = `stream ${id} opened: ${method} on ${replica} by ${owner}${messageId ? `, message ${messageId}` : ''}`;
      const end = ended
        ? `${ended.how}${ended.error ? ` ${ended.error.code} ${ended.error.message}` : ''} ${ended.detail ?? ''}`
        : 'still open';
      return [
        { atMs: openedAtMs, text: opened },
        ...frames.map(({ atMs, event }, index) => ({
          atMs,
          text: `stream ${id} frame ${index + 1}: ${brief(event)}`,
        })),
        { atMs: ended?.atMs ?? history.endedAtMs, text: `stream ${id} ended: ${end}` },
      ];
    });
}

function callLines(history: History, taskId: string): Line[] {
  return history.calls
    .filter((call) => call.taskId === taskId)
    .flatMap(({ method, replica, owner, sentAtMs, answeredAtMs, error, state }) => {
      const sent = { atMs: sentAtMs, text: `call ${method} on ${replica} by ${owner}` };
      if (answeredAtMs === null) return [{ ...sent, text: `${sent.text}: never answered` }];
      const answer = error
        ? `error ${error.code} ${error.reason ?? ''} ${error.message}`
        : (state ?? 'a result');
      return [sent, { atMs: answeredAtMs, text: `answer of ${method} on ${replica}: ${answer}` }];
    });
}

function faultLines(history: History): Line[] {
  return history.faults.flatMap(({ kind, replica, fromMs, toMs, detail }) => {
    const named = `FAULT ${kind} ${replica ?? 'all'}`;
    const begins = { atMs: fromMs, text: `${named}: ${detail}` };
    return toMs === null ? [begins] : [begins, { atMs: toMs, text: `${named} is over` }];
  });
}

function stamp({ beganAtMs }: History, atMs: number): string {
  return `+${Math.round(atMs - beganAtMs)}`.padStart(8);
}

function oneLine(text: string): string {
  return text.replaceAll(/\s*[\r\n]+\s*/g, ' ').trimEnd();
}
