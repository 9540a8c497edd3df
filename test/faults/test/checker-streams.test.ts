import { describe, expect, test } from '@jest/globals';
import type { StreamEnd } from '../src/history/history.js';
import { BEGAN_MS, ended, HistoryBuilder } from './support/build-history.js';
import { crashed, judged, paused, rowAt, usual } from './support/usual.js';

type Red = readonly [what: string, break_: (built: HistoryBuilder) => void, says: RegExp];

/** The streams of the usual history: a send, a subscription to it, the second send, a subscription while parked. */
const [SENT, SUBSCRIBED, AGAIN, PARKED] = [0, 1, 2, 3] as const;

const frames = (built: HistoryBuilder, stream: number): HistoryBuilder['streams'][number]['frames'] =>
  built.streams[stream]!.frames;

/** Takes its last frame from a stream, and ends it so. */
function cut(built: HistoryBuilder, stream: number, end: StreamEnd | null): void {
  frames(built, stream).pop();
  built.streams[stream]!.ended = end;
}

describe('a stream', () => {
  test.each<Red>([
    [
      'that skips a row',
      (b) => frames(b, SENT).splice(1, 1),
      /SendStreamingMessage on r1\): frame 2 \(.* tick 2\/2\) is seq 3 where seq 2 belongs/,
    ],
    [
      'that shows a row twice',
      (b) => frames(b, SENT).splice(1, 0, frames(b, SENT)[1]!),
      /frame 3 .* is seq 2 where seq 3 belongs/,
    ],
    [
      'that shows rows in another order',
      (b) => frames(b, AGAIN).splice(1, 2, frames(b, AGAIN)[2]!, frames(b, AGAIN)[1]!),
      /frame 2 .* is seq 8 where seq 7 belongs/,
    ],
    ['that begins too late', (b) => frames(b, AGAIN).shift(), /frame 1 .* is seq 7 where seq 6 belongs/],
    [
      'that goes on after its end',
      (b) => frames(b, SENT).push(frames(b, AGAIN)[0]!),
      /frame 5 .* is seq 6, after seq 4 ended the stream/,
    ],
    [
      'of a message that opened nothing',
      (b) => (b.streams[AGAIN]!.messageId = 'other'),
      /no turn in the log was opened by its message other/,
    ],
    [
      'that begins with no version of the task',
      (b) => frames(b, SUBSCRIBED).shift(),
      /SubscribeToTask on r2\): its first frame is not the task at any version/,
    ],
    [
      'that skips a row after its first frame',
      (b) => frames(b, SUBSCRIBED).splice(1, 1),
      /began at version 2, but its second frame is not seq 3/,
    ],
    [
      'that was ended before its end',
      (b) => frames(b, PARKED).pop(),
      /it was ended at .* after 4 frames, before seq 9 TASK_STATE_COMPLETED/,
    ],
    [
      'that ended on a parked task',
      (b) => void frames(b, PARKED).splice(1),
      /it was ended at .* before seq 6/,
    ],
    ['that said nothing', (b) => void frames(b, SENT).splice(0), /it ended at .* without a word/],
    [
      'that broke',
      (b) => cut(b, SENT, ended(BEGAN_MS + 1_320, 'broken')),
      /it was broken at \+1320 ms after 3 frames and no fault explains it/,
    ],
    [
      'that ended in an error',
      (b) => cut(b, PARKED, { ...ended(BEGAN_MS + 2_400, 'error'), error: { code: -32603, message: 'oh' } }),
      /it was error at .* no fault explains it \(error -32603 oh\)/,
    ],
    [
      'that never saw the end',
      (b) => cut(b, PARKED, null),
      /it never saw seq 9 TASK_STATE_COMPLETED of \+2300 ms: it has 4 frames and is open at \+60000 ms/,
    ],
    [
      'that stays open after the end',
      (b) => (b.streams[SENT]!.ended = null),
      /it is still open, although seq 4 ended it/,
    ],
    [
      'that saw the end late',
      (b) => (frames(b, PARKED)[4] = { ...frames(b, PARKED)[4]!, atMs: BEGAN_MS + 4_400 }),
      /it saw the end, seq 9 of \+2300 ms, at \+4400 ms only/,
    ],
  ])('%s is told', (_what, break_, says) => {
    const built = usual();
    break_(built);
    expect(judged(built).filter((text) => text.startsWith('I5'))).toEqual([expect.stringMatching(says)]);
  });

  test('whose replica was killed, terminated or cut off may end anywhere', () => {
    for (const kind of ['kill', 'terminate', 'cut_off'] as const) {
      const built = usual();
      built.fault(kind, 2_250, { replica: 'r3', ...(kind === 'cut_off' ? { to: 2_400 } : {}) });
      if (kind !== 'cut_off') Object.assign(built.replicas[2]!, { exitedAtMs: BEGAN_MS + 2_600, exit: 0 });
      built.streams[PARKED]!.ended = ended(BEGAN_MS + 2_300, kind === 'terminate' ? 'complete' : 'broken');
      frames(built, PARKED).pop();
      built.calls.pop();
      expect(judged(built)).toEqual([]);
      built.faults[0]!.replica = 'r9';
      expect(judged(built)).toContainEqual(expect.stringMatching(/^I5/));
    }
  });

  test('whose client went away, or was refused, may end anywhere', () => {
    const built = usual();
    frames(built, PARKED).pop();
    built.streams[PARKED]!.ended = ended(BEGAN_MS + 2_250, 'left');
    frames(built, SENT).splice(0);
    built.streams[SENT]!.ended = {
      ...ended(BEGAN_MS + 1_000, 'error'),
      error: { code: -32004, message: 'busy' },
    };
    expect(judged(built)).toEqual([]);
  });

  test('of a message that was sent again begins with the task as the turn found it', () => {
    const built = usual();
    const repeated = built.subscribed('t', 'r1', { from: 5 });
    Object.assign(repeated, { method: 'SendStreamingMessage', messageId: 'm5-t' });
    expect(judged(built)).toEqual([]);
    repeated.frames.splice(2, 1);
    expect(judged(built)).toEqual([expect.stringMatching(/^I5: .* frame 3 .* is seq 8 where seq 7 belongs/)]);
  });

  test('of a send ends with its turn where the agent left the task waiting for credentials', () => {
    const built = new HistoryBuilder('r1');
    built.open('t', 'r1', 1_000);
    built.say('t', 'r1', 1_100, ['AUTH_REQUIRED']);
    built.sent('t', 'r1');
    expect(judged(built)).toEqual([]);
    built.leases.push({
      taskId: 't',
      holder: 'r1-boot',
      epoch: 1,
      pending: false,
      expiresAtMs: BEGAN_MS + 61_000,
    });
    expect(judged(built)).toEqual([expect.stringMatching(/^I5: .* but its turn 1 still holds its lease/)]);
  });

  test('that shows another task, or to somebody else, is told', () => {
    const built = usual();
    built.open('u', 'r1', 1_000);
    built.say('u', 'r1', 1_100, ['COMPLETED']);
    frames(built, PARKED).push(...built.framesOf(built.rowsOf('u').slice(1)));
    built.streams[SENT]!.owner = 'bob';
    const told = judged(built);
    expect(told).toContainEqual(expect.stringMatching(/^I11: frame 6 of stream .* is of task u/));
    expect(told).toContainEqual(
      expect.stringMatching(/^I11: frame 1 of stream .* shows a task of alice to bob/),
    );
  });
});

describe('the end of a dead turn', () => {
  test.each<Red>([
    [
      'that comes late',
      (b) => (rowAt(b, 3).createdAtMs = BEGAN_MS + 6_200),
      /^I6: turn 1 of r1, which was gone at \+2000 ms, was ended at \+6200 ms \(seq 3 of r2-boot\), due at \+6000 ms/,
    ],
    [
      'that never comes',
      (b) => void b.events.pop(),
      /^I6: turn 1 of r1, which was gone at \+2000 ms, was not ended until \+60000 ms/,
    ],
  ])('%s is told', (_what, break_, says) => {
    const built = crashed();
    break_(built);
    expect(judged(built)).toContainEqual(expect.stringMatching(says));
  });

  test('is due later where the database was away, or nobody was there to sweep', () => {
    for (const add of [
      (b: HistoryBuilder) => b.fault('database_down', 2_500, { to: 3_300 }),
      (b: HistoryBuilder) => b.fault('stop', 1_900, { to: 3_300, replica: 'r2' }),
    ]) {
      const built = crashed();
      Object.assign(rowAt(built, 3), { createdAtMs: BEGAN_MS + 7_200 });
      const late = (): string[] => judged(built).filter((text) => text.startsWith('I6: turn'));
      expect(late()).toHaveLength(1);
      add(built);
      expect(late()).toEqual([]);
      rowAt(built, 3).createdAtMs = BEGAN_MS + 7_500;
      expect(late()).toEqual([expect.stringMatching(/due at \+7300 ms/)]);
    }
  });

  test('is not waited for where the task had been parked', () => {
    const built = crashed();
    built.events.splice(2);
    rowAt(built, 2).payload = rowAt(built, 2).payload.replace(
      'TASK_STATE_WORKING',
      'TASK_STATE_INPUT_REQUIRED',
    );
    expect(judged(built).filter((text) => text.startsWith('I6'))).toEqual([]);
  });
});

describe('a holder that was swept', () => {
  test.each<Red>([
    [
      'although nothing happened to it',
      (b) => void b.faults.splice(0),
      /^I6: a live holder was swept: turn 1 of r1 \(seq 3 by r2-boot at \+4900 ms, lease expired at \+4890 ms\): no fault/,
    ],
    [
      'after a pause it must survive',
      (b) => (b.faults[0]!.toMs = BEGAN_MS + 2_800),
      /^I6: a live holder was swept: .* only stop \+2000 ms to \+2800 ms, less than the 900 ms/,
    ],
    [
      'long after the fault',
      (b) => Object.assign(b.faults[0]!, { fromMs: BEGAN_MS - 2_000, toMs: BEGAN_MS + 600 }),
      /^I6: a live holder was swept/,
    ],
    ['for what happened to another', (b) => (b.faults[0]!.replica = 'r2'), /^I6: a live holder was swept/],
    [
      'and was not told',
      (b) => void b.logs.splice(1),
      /^I7: the signal of turn 1 on r1 did not fire; its turn was swept at \+4900 ms \(seq 3\), so it was due by \+7500 ms/,
    ],
    [
      'and was told late',
      (b) => b.logs.slice(1).forEach((line) => (line.atMs += 1_000)),
      /^I7: the signal of turn 1 on r1 fired at \+8050 ms only/,
    ],
    [
      'and was told late, although it ran',
      (b) => (b.faults[0]!.toMs = BEGAN_MS + 4_000),
      /^I7: .* due by \+5150 ms/,
    ],
  ])('%s is told', (_what, break_, says) => {
    const built = paused();
    break_(built);
    expect(judged(built)).toContainEqual(expect.stringMatching(says));
  });

  test('because of a fault is excused, although a late beat has kept its lease for longer', () => {
    const built = paused();
    Object.assign(built.faults[0]!, { kind: 'database_down', toMs: BEGAN_MS + 3_000 });
    built.logs.slice(1).forEach((line) => (line.atMs = BEGAN_MS + 3_800));
    built.events.splice(-1);
    built.swept('t', 'r2', 6_200);
    expect(judged(built).filter((text) => text.startsWith('I6'))).toEqual([]);
  });

  test('by faults that were short, but many, is excused', () => {
    const built = paused();
    built.faults.splice(0);
    for (const at of [2_000, 2_600, 3_200, 3_800])
      built.fault('cut_off', at, { to: at + 300, replica: 'r1' });
    built.logs.slice(1).forEach((line) => (line.atMs = BEGAN_MS + 4_850));
    expect(judged(built)).toEqual([]);
  });
});
