import { describe, expect, test } from '@jest/globals';
import type { WireEvent } from '../src/history/history.js';
import { BEGAN_MS, ended, HistoryBuilder } from './support/build-history.js';
import { judged, rowAt, usual } from './support/usual.js';

/** Of the usual history: a subscription while parked, which shows the task and seqs 6 to 9. */
const PARKED = 3;
const LAST = 9;
const PRUNED_AT = 2_800;
const RESET_AT = 2_900;

type Red = readonly [what: string, break_: (built: HistoryBuilder) => void, says: RegExp];

/** The usual history, its log pruned half a second after its end. */
function pruned(): HistoryBuilder {
  const built = usual();
  built.settings = { ...built.settings, eventRetentionMs: 400 };
  for (const row of built.events) row.prunedAtMs = BEGAN_MS + PRUNED_AT;
  return built;
}

/** The same, and a subscription that was behind got the whole task in place of the rest. */
function reset(): HistoryBuilder {
  const built = pruned();
  built.fault('client', 2_100, { to: 3_000, detail: built.streams[PARKED]!.id });
  const { frames } = built.streams[PARKED]!;
  frames.splice(2);
  frames.push({ atMs: BEGAN_MS + RESET_AT, event: marked(wholeTask(built)) });
  built.streams[PARKED]!.ended = ended(BEGAN_MS + RESET_AT + 10);
  return built;
}

function wholeTask(built: HistoryBuilder): WireEvent {
  const event = built.subscribed('t', 'r3', { from: LAST }).frames[0]!.event;
  built.streams.pop();
  return event;
}

function marked({ task }: WireEvent): WireEvent {
  return { task: { ...task!, metadata: { 'a2a-cluster': { reset: 'pruned' } } } };
}

describe('a pruned log', () => {
  test('is judged as a whole one', () => {
    expect(judged(pruned())).toEqual([]);
    const built = pruned();
    built.streams[PARKED]!.frames.splice(1, 1);
    expect(judged(built)).toContainEqual(expect.stringMatching(/^I5/));
  });

  test('may have lost its beginning alone', () => {
    const built = pruned();
    for (const seq of [7, 8, LAST]) delete rowAt(built, seq).prunedAtMs;
    expect(judged(built)).toEqual([]);
  });

  test.each<Red>([
    [
      'too early',
      (b) => (rowAt(b, 4).prunedAtMs = BEGAN_MS + 2_500),
      /I2: its log was pruned 200 ms after its end, not 400/,
    ],
    ['out of order', (b) => void delete rowAt(b, 2).prunedAtMs, /I2: seq 3 was pruned while seq 2 is there/],
    [
      'where nothing may be',
      (b) => (b.settings = { ...b.settings, eventRetentionMs: 1e9 }),
      /I2: its log was pruned 500 ms after its end/,
    ],
  ])('%s is told', (_what, break_, says) => {
    const built = pruned();
    break_(built);
    expect(judged(built)).toEqual([expect.stringMatching(says)]);
  });

  test('of a task that has not ended is told', () => {
    const built = new HistoryBuilder('r1');
    built.open('t', 'r1', 1_000);
    built.say('t', 'r1', 1_300, ['INPUT_REQUIRED', 'Which one?']);
    rowAt(built, 1).prunedAtMs = BEGAN_MS + 2_000;
    const says = /I2: seq 1 was pruned, but the task has not ended/;
    expect(judged(built)).toEqual([expect.stringMatching(says)]);
  });
});

describe('a stream that was reset', () => {
  test('is in order where its next row was pruned by then', () => {
    expect(judged(reset())).toEqual([]);
  });

  test('may show nothing but the reset: a repeated message of a turn that is gone', () => {
    const built = reset();
    const { frames } = built.streams[PARKED]!;
    frames.splice(0, frames.length - 1);
    Object.assign(built.streams[PARKED]!, { method: 'SendStreamingMessage', messageId: 'm5-t' });
    expect(judged(built)).toEqual([]);
  });

  test.each<Red>([
    [
      'although its next row was there',
      (b) => {
        for (const row of b.events) row.prunedAtMs = BEGAN_MS + RESET_AT + 1_000;
      },
      /it was reset at \+2900 ms after 2 frames, but seq 7 was in the log/,
    ],
    [
      'with another task than the last one',
      (b) => {
        const last = b.streams[PARKED]!.frames.at(-1)!;
        const { task } = last.event;
        Object.assign(last, { event: { task: { ...task!, artifacts: [] } } });
      },
      /but not with the task as of its last event, seq 9/,
    ],
    [
      'after it had seen everything',
      (b) => {
        const rest = usual().streams[PARKED]!.frames.slice(2);
        b.streams[PARKED]!.frames.splice(2, 0, ...rest);
      },
      /but it had seen all there was/,
    ],
    ['and goes on', (b) => (b.streams[PARKED]!.ended = null), /and is still open/],
    [
      'and then breaks',
      (b) => (b.streams[PARKED]!.ended = ended(BEGAN_MS + 3_000, 'broken')),
      /and then was broken/,
    ],
    [
      'in the middle',
      (b) => b.streams[PARKED]!.frames.push(usual().streams[PARKED]!.frames[2]!),
      /frame 3 .* is no row/,
    ],
  ])('%s is told', (_what, break_, says) => {
    const built = reset();
    break_(built);
    expect(judged(built).filter((text) => text.startsWith('I5'))).toEqual([expect.stringMatching(says)]);
  });
});
