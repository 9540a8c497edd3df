import { describe, expect, test } from '@jest/globals';
import { BEGAN_MS, type HistoryBuilder } from './support/build-history.js';
import { judged, rowAt, usual } from './support/usual.js';

type Red = readonly [what: string, break_: (built: HistoryBuilder) => void, says: RegExp];

/** The usual history, in which the last event came at +2320 ms and was accepted at +2321 ms. */
function again(at: number): HistoryBuilder {
  const built = usual();
  // On SQLite a stop explains more.
  built.database = 'postgresql';
  built.attempt('hook', rowAt(built, 9), { atMs: BEGAN_MS + at });
  return built;
}

const AGAIN = /^I8: webhook hook: seq 9 came at \+\d+ ms, though it was settled at \+2321 ms/;

describe('of pushes', () => {
  test.each<Red>([
    [
      'an event that never came',
      (b) => b.pushes.splice(2, 1),
      /^I8: webhook hook: seq 3 \(r1-boot, \+1200 ms\) never was accepted, registered at \+900 ms; .* active at 9/,
    ],
    [
      'an event that was never accepted',
      (b) => (b.pushes[2]!.answer = 500),
      /^I8: webhook hook: seq 3 .* never was accepted/,
    ],
    [
      'a last event that a webhook does not wait for any more',
      (b) => {
        b.pushes.pop();
        Object.assign(b.configs[0]!, { status: 'done', position: 8 });
      },
      /^I8: .* seq 9 .* never was accepted.* the config is done at 8/,
    ],
    [
      'another order',
      (b) => ([b.pushes[1]!.atMs, b.pushes[2]!.atMs] = [b.pushes[2]!.atMs, b.pushes[1]!.atMs]),
      /^I8: webhook hook: seq 3 came at \+1120 ms, before seq 2 was accepted/,
    ],
    [
      'an event that came while the one before it was still tried',
      (b) => b.attempt('hook', rowAt(b, 4), { atMs: BEGAN_MS + 1_130, answer: 500 }),
      /^I8: webhook hook: seq 4 came at \+1130 ms, before seq 3 was accepted/,
    ],
    [
      'another body under the same id',
      (b) => b.attempt('hook', rowAt(b, 2), { atMs: BEGAN_MS + 1_115, answer: 500, digest: 'another' }),
      /^I8: webhook hook: seq 2 came at \+1120 ms with another body than before/,
    ],
    ['no id', (b) => (b.pushes[1]!.id = null), /^I8: webhook hook: what came at \+1120 ms has no id/],
    ['an id that is none', (b) => (b.pushes[1]!.id = 't:2'), /^I8: .* has the id t:2, which is none/],
    [
      'an id of another config',
      (b) => (b.pushes[1]!.id = 't:2:other'),
      /^I8: .* has the id t:2:other, the config is c-hook/,
    ],
    ['an id of no row', (b) => (b.pushes[1]!.id = 't:99:c-hook'), /^I8: .* t:99:c-hook, which is of no row/],
    [
      'an id of another row',
      (b) => (b.pushes[1]!.id = 't:3:c-hook'),
      /^I8: .* has the id t:3:c-hook and is not what the log holds there/,
    ],
    [
      'a message that is for its caller',
      (b) => (b.pushes[1]!.id = 't:5:c-hook'),
      /^I8: .* has the id t:5:c-hook, which is of a message that is for its caller alone/,
    ],
    [
      'a config that is disabled without a reason',
      (b) => (b.configs[0]!.status = 'disabled'),
      /^I8: webhook hook: it is disabled, and never said that it is gone/,
    ],
    [
      'a dead letter that was never refused',
      (b) => {
        b.pushes[2]!.answer = 429;
        b.letters.push({ taskId: 't', configId: 'c-hook', seq: 3, attempts: 1, error: 'Too many.' });
      },
      /^I8: webhook hook: seq 3 was given up, and never refused for good: Too many\./,
    ],
    [
      'what comes after the webhook said it is gone',
      (b) => {
        b.pushes[2]!.answer = 410;
        b.configs[0]!.status = 'disabled';
      },
      /^I8: webhook hook: seq 4 came at \+1320 ms, though it was settled at \+1221 ms/,
    ],
    [
      'an event of another task',
      (b) =>
        (b.pushes[1]!.event = { statusUpdate: { taskId: 'u', status: { state: 'TASK_STATE_WORKING' } } }),
      /^I11: webhook hook of the task was sent an event of task u/,
    ],
  ])('%s is told', (_what, break_, says) => {
    const built = usual();
    break_(built);
    expect(judged(built)).toContainEqual(expect.stringMatching(says));
  });

  test('ids may be percent-encoded', () => {
    const built = usual();
    built.pushes[1]!.id = '%74:2:c-%68ook';
    expect(judged(built)).toEqual([]);
  });

  test('what was before the registration need not come', () => {
    const built = usual();
    built.pushes.splice(0, 1);
    built.configs[0]!.createdAtMs = BEGAN_MS + 1_050;
    expect(judged(built)).toEqual([]);
  });

  test('what is refused for good is a dead letter, and its successors go on', () => {
    const built = usual();
    built.pushes[2]!.answer = 400;
    built.letters.push({ taskId: 't', configId: 'c-hook', seq: 3, attempts: 1, error: 'No.' });
    expect(judged(built)).toEqual([]);
  });

  test('what was to come need not, once the webhook is gone or deleted', () => {
    const built = usual();
    built.pushes.splice(3);
    built.pushes[2]!.answer = 410;
    Object.assign(built.configs[0]!, { status: 'disabled', position: 2 });
    expect(judged(built)).toEqual([]);
    built.configs.pop();
    expect(judged(built)).toEqual([]);
  });

  test('what is on its way when the history ends is missed only where the scenario waited for it', () => {
    const built = usual();
    built.pushes.splice(-2);
    built.configs[0]!.position = 7;
    built.awaited = false;
    expect(judged(built)).toEqual([]);
    built.configs[0]!.position = 8;
    expect(judged(built)).toEqual([expect.stringMatching(/^I8: .* seq 8 .* never was accepted/)]);
    built.awaited = true;
    expect(judged(built)).toHaveLength(2);
  });
});

describe('what was accepted may come again', () => {
  const hurt = (kind: 'kill' | 'terminate' | 'stop' | 'statements', from: number, to?: number) => {
    const built = again(7_000);
    built.endedAt = 8_000;
    built.fault(kind, from, { replica: 'r2', ...(to === undefined ? {} : { to }) });
    const exitedAtMs = BEGAN_MS + (kind === 'kill' ? from : from + 1_000);
    if (to === undefined)
      Object.assign(built.replicas[1]!, { exitedAtMs, exit: kind === 'kill' ? 'SIGKILL' : 0 });
    return judged(built).filter((text) => text.startsWith('I8'));
  };

  test('never without a fault', () => {
    expect(judged(again(6_000))).toEqual([expect.stringMatching(AGAIN)]);
  });

  test.each([
    ['kill', 2_325, undefined, 2_000, 5_000],
    ['terminate', 2_325, undefined, 1_200, 5_000],
    ['stop', 2_325, 5_500, 2_000, 4_500],
    ['statements', 2_325, 5_500, 2_000, 7_100],
  ] as const)('after a %s about when it was accepted, not another time', (kind, near, to, before, after) => {
    expect(hurt(kind, near, to)).toEqual([]);
    // What was over before the time of a claim, and what came when it had long been marked.
    const earlier = kind === 'statements' ? hurt(kind, 100, 200) : hurt(kind, before, to && before + 100);
    expect(earlier).toEqual([expect.stringMatching(AGAIN)]);
    expect(hurt(kind, after, to && after + 100)).toEqual([expect.stringMatching(AGAIN)]);
  });

  test('once, when a sender wakes that was about to send it', () => {
    const built = again(6_000);
    built.fault('stop', 1_900, { replica: 'r2', to: 5_800 });
    const found = (): string[] => judged(built).filter((text) => text.startsWith('I8'));
    expect(found()).toEqual([]);
    built.attempt('hook', rowAt(built, 8), { atMs: BEGAN_MS + 6_100 });
    expect(found()).toEqual([expect.stringMatching(/^I8: .* seq 8 came at \+6100 ms/)]);
  });
});
