import { checkHistory } from '../../src/checker/check.js';
import type { EventRow } from '../../src/history/history.js';
import { HistoryBuilder } from './build-history.js';

/** A task of two turns on two replicas, seen by everybody who could see it; everything keeps every promise. */
export function usual(): HistoryBuilder {
  const built = new HistoryBuilder('r1', 'r2', 'r3');
  built.config('t', 'hook', 900);
  built.open('t', 'r1', 1_000);
  built.say('t', 'r1', 1_100, ['WORKING', 'tick 1/2']);
  built.say('t', 'r1', 1_200, ['WORKING', 'tick 2/2']);
  built.say('t', 'r1', 1_300, ['INPUT_REQUIRED', 'Which one?']);
  built.sent('t', 'r1');
  built.subscribed('t', 'r2', { from: 2 });
  built.followUp('t', 'r2', 2_000);
  built.echo('t', 'r2', 2_050);
  built.chunk('t', 'r2', 2_100, 1);
  built.chunk('t', 'r2', 2_200, 2);
  built.say('t', 'r2', 2_300, ['COMPLETED', 'done']);
  const second = built.rowsOf('t').slice(4);
  built.sent('t', 'r2', { rows: second, messageId: 'm5-t' });
  built.subscribed('t', 'r3', { from: 4 });
  built.pushed('t', 'hook');
  built.call('GetTask', 'r3', 3_000, { taskId: 't', state: 'TASK_STATE_COMPLETED' });
  return built;
}

/** A task whose replica is killed at 2 s, and which r2 sweeps. */
export function crashed(): HistoryBuilder {
  const built = new HistoryBuilder('r1', 'r2');
  built.open('t', 'r1', 1_000);
  built.log('r1', 1_000, { msg: 'agent turn began', taskId: 't' });
  built.say('t', 'r1', 1_500, ['WORKING', 'tick 1/9']);
  built.kill('r1', 2_000);
  const caller = built.sent('t', 'r1');
  caller.ended = { atMs: caller.openedAtMs + 1_000, how: 'broken' };
  built.swept('t', 'r2', 4_900);
  built.subscribed('t', 'r2', { from: 1 });
  built.log('r2', 4_910, { msg: 'ended the turn of a replica that was lost', taskId: 't', epoch: 1 });
  return built;
}

/** A live turn that loses its lease because its replica stands still from 2 s to 7 s. */
export function paused(): HistoryBuilder {
  const built = new HistoryBuilder('r1', 'r2');
  built.open('t', 'r1', 1_000);
  built.log('r1', 1_000, { msg: 'agent turn began', taskId: 't' });
  built.say('t', 'r1', 1_500, ['WORKING', 'tick 1/9']);
  built.fault('stop', 2_000, { to: 7_000, replica: 'r1' });
  built.swept('t', 'r2', 4_900);
  built.subscribed('t', 'r2', { from: 1 });
  built.log('r1', 7_050, { msg: 'agent signal fired', taskId: 't', epoch: 1 });
  built.log('r1', 7_060, { msg: 'agent turn returned', taskId: 't', epoch: 1 });
  return built;
}

/** A running turn on r1, cancelled on r2 at 2 s. */
export function cancelled(): HistoryBuilder {
  const built = new HistoryBuilder('r1', 'r2');
  built.open('t', 'r1', 1_000);
  built.log('r1', 1_000, { msg: 'agent turn began', taskId: 't' });
  built.say('t', 'r1', 1_500, ['WORKING', 'tick 1/9']);
  built.log('r1', 2_100, { msg: 'agent signal fired', taskId: 't', epoch: 1 });
  built.canceled('t', 'r1', 2_150);
  built.sent('t', 'r1');
  built.call('CancelTask', 'r2', 2_000, {
    taskId: 't',
    state: 'TASK_STATE_CANCELED',
    answeredAtMs: 1_700_000_002_200,
  });
  return built;
}

/** The violations as `I1: text`. */
export function judged(built: HistoryBuilder): string[] {
  return checkHistory(built.build()).map(({ invariant, text }) => `${invariant}: ${text}`);
}

/** The row of that seq. */
export function rowAt(built: HistoryBuilder, seq: number, taskId = 't'): HistoryBuilder['events'][number] {
  const row = built.events.find((each: EventRow) => each.seq === seq && each.taskId === taskId);
  if (row === undefined) throw new Error(`no seq ${seq}`);
  return row;
}
