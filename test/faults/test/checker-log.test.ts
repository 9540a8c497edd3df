import { describe, expect, test } from '@jest/globals';
import { BEGAN_MS, HistoryBuilder } from './support/build-history.js';
import { cancelled, crashed, judged, paused, rowAt, usual } from './support/usual.js';

/** Each breaks one rule of a history that keeps them all; what the checker says is part of it. */
type Red = readonly [what: string, break_: (built: HistoryBuilder) => void, says: RegExp];

describe('the checker finds nothing wrong with', () => {
  test.each([
    ['two turns on two replicas', usual],
    ['a crash that was swept', crashed],
    ['a holder that stood still and was swept', paused],
    ['a cancel', cancelled],
  ])('%s', (_what, built) => {
    expect(judged(built())).toEqual([]);
  });

  test('a cancel of a parked task, which carries the version as its epoch', () => {
    const built = new HistoryBuilder('r1', 'r2');
    built.open('t', 'r1', 1_000);
    built.say('t', 'r1', 1_100, ['INPUT_REQUIRED']);
    built.canceled('t', 'r2', 2_000, false);
    expect(judged(built)).toEqual([]);
  });

  test('a poisoned task that cannot be read', () => {
    const built = crashed();
    rowAt(built, 2).payload = '{';
    built.fault('poison', 1_600, { to: 1_600, detail: 'seq 2 of t' });
    built.taskRows.set('t', { state: 'TASK_STATE_WORKING', version: 3 });
    built.leases.push({
      ...{ taskId: 't', holder: 'r1-boot', epoch: 1, pending: false },
      expiresAtMs: BEGAN_MS,
    });
    expect(judged(built)).toEqual([]);
  });
});

describe('the log', () => {
  test.each<Red>([
    [
      'two ends',
      (b) => void b.say('t', 'r2', 2_400, ['COMPLETED', 'again']),
      /^I1: 2 terminal events: seq 9 TASK_STATE_COMPLETED, seq 10/,
    ],
    [
      'an event after the end',
      (b) => void b.chunk('t', 'r2', 2_400, 3),
      /^I1: seq 10 .* after the terminal seq 9/,
    ],
    [
      'a state that is not the log’s',
      (b) => b.taskRows.set('t', { state: 'TASK_STATE_WORKING' }),
      /^I1: the row says TASK_STATE_WORKING, the log folds to TASK_STATE_COMPLETED/,
    ],
    [
      'a version that is not the log’s',
      (b) => b.taskRows.set('t', { version: 8 }),
      /^I1: the row has version 8, the last event is seq 9/,
    ],
    ['a task without an event', (b) => b.taskRows.set('other', {}), /^I1: a task row/],
    ['a gap', (b) => void b.events.splice(2, 1), /^I2: seq 4 .* where 3 belongs, after 2/],
    [
      'a seq twice',
      (b) => void b.events.splice(2, 0, { ...rowAt(b, 2), writeId: 'w' }),
      /^I2: seq 2 .* where 3 belongs/,
    ],
    [
      'an epoch that shrinks',
      (b) => (rowAt(b, 8).epoch = 1),
      /^I3: seq 8 .* epoch 1: an epoch shrinks, it was 5/,
    ],
    [
      'an epoch of no turn',
      (b) => (rowAt(b, 3).epoch = 2),
      /^I3: seq 3 .* epoch 2: the turn current there has epoch 1/,
    ],
    [
      'two replicas in an epoch',
      (b) => (rowAt(b, 8).holder = 'r1-boot'),
      /^I3: seq 8 .*r1-boot.*holder of epoch 5 is r2-boot/,
    ],
    [
      'a writer that nobody knows',
      (b) => (rowAt(b, 9).holder = 'r9'),
      /^I3: seq 9 .* no replica of this run/,
    ],
    [
      'a write id twice',
      (b) => (rowAt(b, 3).writeId = rowAt(b, 2).writeId),
      /^I4: write id write-\d+ stands at seq 3 and at seq 2/,
    ],
    [
      'a payload that cannot be read',
      (b) => (rowAt(b, 3).payload = '{'),
      /^I4: the payload of seq 3 \(statusUpdate\) cannot be read/,
    ],
  ])('%s is told', (_what, break_, says) => {
    const built = usual();
    break_(built);
    expect(judged(built)).toContainEqual(expect.stringMatching(says));
  });

  test.each<Red>([
    [
      'a tick twice',
      (b) => void b.say('t', 'r1', 1_600, ['WORKING', 'tick 1/9']),
      /^I4: seq 3, epoch 1: tick 1\/9 after 1\/9/,
    ],
    [
      'a gap in the ticks',
      (b) => void b.say('t', 'r1', 1_600, ['WORKING', 'tick 3/9']),
      /^I4: seq 3, epoch 1: tick 3\/9 after 1\/9/,
    ],
    [
      'a chunk twice',
      (b) => void [1, 2, 2].map((n, i) => b.chunk('t', 'r1', 1_600 + i, n)),
      /^I4: seq 5, epoch 1: chunk \[2\] where \[3\] belongs/,
    ],
    [
      'chunks without a beginning',
      (b) => void b.chunk('t', 'r1', 1_600, 2),
      /^I4: seq 3, epoch 1: chunk \[2\] where \[1\] belongs/,
    ],
    [
      'a status message twice',
      (b) => {
        const row = b.say('t', 'r1', 1_600, ['WORKING', 'hm']);
        b.say('t', 'r1', 1_700, ['WORKING', 'hm']).payload = row.payload;
      },
      /^I4: seq 4 and seq 3 are the same status message/,
    ],
  ])('%s is told', (_what, break_, says) => {
    const built = new HistoryBuilder('r1');
    built.open('t', 'r1', 1_000);
    built.say('t', 'r1', 1_500, ['WORKING', 'tick 1/9']);
    built.leases.push({
      ...{ taskId: 't', holder: 'r1-boot', epoch: 1, pending: false },
      expiresAtMs: BEGAN_MS + 61_000,
    });
    expect(judged(built)).toEqual([]);
    break_(built);
    expect(judged(built)).toContainEqual(expect.stringMatching(says));
  });
});

describe('what was seen', () => {
  const invented = { statusUpdate: { taskId: 't', status: { state: 'TASK_STATE_WORKING' } } };
  test.each<Red>([
    [
      'a frame of no row',
      (b) => b.streams[0]?.frames.splice(1, 0, { atMs: BEGAN_MS + 1_120, event: invented }),
      /^I4: frame 2 of stream .* shows what is not in the log/,
    ],
    [
      'a push of no row',
      (b) => (b.pushes[3]!.event = invented),
      /^I4: a push to hook .* shows what is not in the log/,
    ],
    [
      'a frame before its row',
      (b) => (rowAt(b, 3).createdAtMs += 800),
      /^I4: frame 3 of stream .* shows seq 3 at \+1210 ms, stored at \+2000 ms only/,
    ],
    [
      'an answer of a state that never was',
      (b) => (b.calls[0]!.state = 'TASK_STATE_FAILED'),
      /^I4: GetTask on r3 was answered TASK_STATE_FAILED at .* never was/,
    ],
    [
      'an answer before its row',
      (b) => (b.calls[0]!.answeredAtMs = BEGAN_MS + 2_000),
      /^I4: GetTask .* which it was from seq 9 at \+2300 ms on/,
    ],
    [
      'a task that is not in the log',
      (b) => b.call('GetTask', 'r1', 1, { taskId: 'gone', state: 'TASK_STATE_WORKING' }),
      /^I4: the log has no event of it, .* 1 answers/,
    ],
  ])('%s is told', (_what, break_, says) => {
    const built = usual();
    break_(built);
    expect(judged(built)).toContainEqual(expect.stringMatching(says));
  });

  test('a frame before its row says nothing where the clock of the database was stepped', () => {
    const built = usual();
    rowAt(built, 3).createdAtMs += 800;
    built.steady = false;
    expect(judged(built)).toEqual([]);
  });
});

describe('leases and sweeps', () => {
  const lease = { taskId: 't', holder: 'r1-boot', epoch: 1, pending: false, expiresAtMs: BEGAN_MS + 61_000 };
  test.each<Red>([
    [
      'a lease on an ended task',
      (b) => b.leases.push({ ...lease }),
      /^I10: the lease of r1-boot, epoch 1, is left on a task that is TASK_STATE_FAILED/,
    ],
    [
      'a lease of no task',
      (b) => b.leases.push({ ...lease, taskId: 'none' }),
      /^I10: the lease of .* belongs to no task/,
    ],
    [
      'a lease nobody sweeps',
      (b) => b.leases.push({ ...lease, expiresAtMs: BEGAN_MS + 50_000 }),
      /^I10: .* expired at \+50000 ms and still stands at \+60000 ms/,
    ],
    [
      'a running task without a lease',
      (b) => void b.open('u', 'r2', 5_000),
      /^I10: the task is TASK_STATE_SUBMITTED and nobody holds a lease/,
    ],
    [
      'a follow-up that was forgotten',
      (b) => {
        b.open('u', 'r2', 5_000);
        b.say('u', 'r2', 5_100, ['INPUT_REQUIRED']);
        b.followUp('u', 'r2', 5_200);
      },
      /^I10: turn 3 of r2-boot was accepted, wrote nothing, and has no lease any more/,
    ],
    [
      'an epoch swept twice',
      (b) => (b.swept('t', 'r2', 5_000).writeId = 'w'),
      /^I10: epoch 1 was swept at seq 3 and at seq 4/,
    ],
    [
      'two who say they swept it',
      (b) => b.log('r1', 4_950, { msg: 'ended the turn of a replica that was lost', taskId: 't', epoch: 1 }),
      /^I10: r2 at .* and r1 at .* both say that they swept epoch 1/,
    ],
  ])('%s is told', (_what, break_, says) => {
    const built = crashed();
    break_(built);
    expect(judged(built)).toContainEqual(expect.stringMatching(says));
  });

  test('an expired lease may stand while its rows are locked', () => {
    const built = new HistoryBuilder('r1');
    built.open('t', 'r1', 1_000);
    built.leases.push({ ...lease, expiresAtMs: BEGAN_MS + 50_000 });
    built.fault('rows_locked', 45_000, { replica: 'r1', to: 59_500 });
    expect(judged(built)).toEqual([]);
    built.open('u', 'r1', 1_000);
    built.leases.push({ ...lease, taskId: 'u' });
    built.faults[0]!.detail = 'rows of u';
    expect(judged(built)).toContainEqual(expect.stringMatching(/^I10: .* expired at \+50000 ms/));
    built.faults[0]!.detail = 'any rows';
    expect(judged(built)).toEqual([]);
    built.faults[0]!.toMs = BEGAN_MS + 52_000;
    expect(judged(built)).toContainEqual(expect.stringMatching(/^I10: .* expired at \+50000 ms/));
  });
});
