import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mergedHistory } from '../src/checker/check.js';
import { historyFigures } from '../src/checker/figures.js';
import { loadHistory } from '../src/history/file.js';
import { BEGAN_MS, type HistoryBuilder } from './support/build-history.js';
import { cancelled, crashed, judged, rowAt, usual } from './support/usual.js';

type Red = readonly [what: string, break_: (built: HistoryBuilder) => void, says: RegExp];

describe('a cancel', () => {
  test.each<Red>([
    [
      'after which the agent says more',
      (b) => void b.say('t', 'r1', 2_160, ['WORKING', 'and not even dead']),
      /^I9: seq 4 of r1-boot after CANCELED at seq 3/,
    ],
    [
      'that is answered another state',
      (b) => (b.calls[0]!.state = 'TASK_STATE_WORKING'),
      /^I9: the cancel of \+2000 ms on r2 was answered TASK_STATE_WORKING/,
    ],
    [
      'that is answered and not done',
      (b) => void b.events.pop(),
      /^I9: .* was answered CANCELED, but the task is TASK_STATE_WORKING in the log/,
    ],
    [
      'of which the agent never hears',
      (b) => void b.logs.pop(),
      /^I9: .* the agent of turn 1 on r1 was never told, due by \+3500 ms/,
    ],
    [
      'of which the agent hears late',
      (b) => (b.logs[1]!.atMs = BEGAN_MS + 3_600),
      /^I9: .* was told at \+3600 ms only, due by \+3500 ms/,
    ],
    [
      'that takes too long',
      (b) => (rowAt(b, 3).createdAtMs = BEGAN_MS + 4_200),
      /^I9: .* CANCELED stands at \+4200 ms \(seq 3 of r1-boot\), due by \+4000 ms/,
    ],
  ])('%s is told', (_what, break_, says) => {
    const built = cancelled();
    break_(built);
    expect(judged(built)).toContainEqual(expect.stringMatching(says));
  });

  test('may take a lease longer where the holder was hurt', () => {
    const built = cancelled();
    rowAt(built, 3).createdAtMs = BEGAN_MS + 5_000;
    const late = (): string[] => judged(built).filter((text) => text.startsWith('I9'));
    expect(late()).toHaveLength(1);
    built.fault('stop', 1_900, { to: 4_800, replica: 'r1' });
    expect(late()).toEqual([]);
    rowAt(built, 3).createdAtMs = BEGAN_MS + 7_200;
    expect(late()).toHaveLength(1);
  });

  test('of a task that was cancelled before is only told again', () => {
    const built = cancelled();
    built.call('CancelTask', 'r1', 9_000, { taskId: 't', state: 'TASK_STATE_CANCELED' });
    expect(judged(built)).toEqual([]);
  });
});

describe('somebody else', () => {
  test.each<Red>([
    [
      'is answered',
      (b) =>
        b.call('GetTask', 'r1', 3_000, {
          owner: 'bob',
          taskId: 't',
          must: 'not_found',
          state: 'TASK_STATE_COMPLETED',
        }),
      /^I11: GetTask of bob on r1 at \+3000 ms had to be answered TaskNotFound, and was TASK_STATE_COMPLETED/,
    ],
    [
      'is answered another error',
      (b) =>
        b.call('CancelTask', 'r1', 3_000, {
          owner: 'bob',
          taskId: 't',
          must: 'not_found',
          error: { code: -32002, message: 'no' },
        }),
      /^I11: CancelTask .* and was -32002 no/,
    ],
    [
      'is answered, although nothing was said of it',
      (b) => (b.calls[0]!.owner = 'bob'),
      /^I11: GetTask of bob on r3 .* was answered TASK_STATE_COMPLETED for a task of alice/,
    ],
  ])('%s is told', (_what, break_, says) => {
    const built = usual();
    break_(built);
    expect(judged(built)).toContainEqual(expect.stringMatching(says));
  });

  test('is told that there is no such task', () => {
    const built = usual();
    const call = { owner: 'bob', taskId: 't', must: 'not_found' as const };
    built.call('GetTask', 'r1', 3_000, { ...call, error: { code: -32001, message: 'not found' } });
    built.call('GetTask', 'r1', 3_000, { ...call, answeredAtMs: null });
    expect(judged(built)).toEqual([]);
    const hurt = built.call('GetTask', 'r1', 8_000, {
      ...call,
      error: { code: -32603, message: 'internal' },
    });
    expect(judged(built)).toHaveLength(1);
    built.fault('database_down', 7_500, { to: hurt.sentAtMs - BEGAN_MS });
    expect(judged(built)).toEqual([]);
  });
});

describe('a replica', () => {
  const samples = (built: HistoryBuilder, growth: { bytes: number; handles: number }): void => {
    for (let i = 0; i <= 240; i += 1)
      built.samples.push({
        ...{ atMs: BEGAN_MS + i * 1_000, replica: 'r1' },
        residentBytes: 100 * 2 ** 20 + i * growth.bytes,
        fileHandles: 40 + i * growth.handles,
      });
  };
  test.each<Red>([
    [
      'that ends by itself',
      (b) => Object.assign(b.replicas[2]!, { exitedAtMs: BEGAN_MS + 4_000, exit: 1 }),
      /^I12: r3 ended with 1 at \+4000 ms, and nobody told it to/,
    ],
    [
      'that was told to end and did not end well',
      (b) => {
        b.fault('terminate', 4_000, { replica: 'r3' });
        Object.assign(b.replicas[2]!, { exitedAtMs: BEGAN_MS + 5_000, exit: 3 });
      },
      /^I12: r3 ended with 3 at \+5000 ms, after it was told to end at \+4000 ms/,
    ],
    [
      'that was told to end and goes on',
      (b) => b.fault('terminate', 4_000, { replica: 'r3' }),
      /^I12: r3 was told to end at \+4000 ms and still runs at \+60000 ms/,
    ],
    [
      'that leaves a rejection uncaught',
      (b) => b.log('r1', 4_000, { msg: 'a promise was rejected and nobody caught it', level: 'error' }),
      /^I12: r1 logged at \+4000 ms: error a promise/,
    ],
    [
      'that says something fatal',
      (b) => b.log('r1', 4_000, { msg: 'oh', level: 'fatal' }),
      /^I12: r1 logged at \+4000 ms: fatal oh/,
    ],
    [
      'that prints a warning of node',
      (b) => Object.assign(b.replicas[0]!, { strayLines: ['(node:1) MaxListenersExceededWarning: 11'] }),
      /^I12: r1 printed: .*MaxListeners/,
    ],
    [
      'that logs a warning of node',
      (b) => b.log('r1', 4_000, { msg: '(node:1) MaxListenersExceededWarning: 11', level: 'warn' }),
      /^I12: r1 logged at \+4000 ms: warn .*MaxListeners/,
    ],
    [
      'that never closes what it opens',
      (b) => samples(b, { bytes: 0, handles: 1 }),
      /^I12: r1 has 258 file handles in the last quarter, 167 in the second/,
    ],
    [
      'that never lets go of memory',
      (b) => samples(b, { bytes: 3 * 2 ** 20, handles: 0 }),
      /^I12: r1 holds 754 MiB in the last quarter, 481 in the second/,
    ],
  ])('%s is told', (_what, break_, says) => {
    const built = usual();
    break_(built);
    expect(judged(built)).toContainEqual(expect.stringMatching(says));
  });

  test('may be told to end, be killed, and grow a little', () => {
    const built = usual();
    samples(built, { bytes: 2 ** 19, handles: 0.2 });
    built.fault('terminate', 4_000, { replica: 'r3' });
    Object.assign(built.replicas[2]!, { exitedAtMs: BEGAN_MS + 5_000, exit: 0 });
    built.kill('r2', 20_000);
    expect(judged(built)).toEqual([]);
  });
});

test('figures tell how soon a dead turn was ended', () => {
  const built = crashed();
  built.call('GetTask', 'r1', 1, { error: { code: -32004, message: 'busy', reason: 'TASK_BUSY' } });
  expect(historyFigures(built.build())).toEqual({
    ...{ tasks: 1, events: 3, frames: 5, swept: 1, 'refused TASK_BUSY': 1 },
    ...{ 'detection p50 ms': 2_900, 'detection max ms': 2_900 },
  });
});

test('figures tell when the machine stood still: nobody can judge times then', () => {
  const built = usual();
  for (const at of [1_000, 2_000, 6_500, 7_500])
    built.samples.push({ atMs: BEGAN_MS + at, replica: 'r1', residentBytes: 1, fileHandles: 1 });
  expect(historyFigures(built.build())).toMatchObject({ 'stalled ms': 3_500 });
});

test('a merged history has a line for everything about a task', () => {
  const lines = mergedHistory(crashed().build(), 't').join('\n');
  for (const part of [
    /\+1000 {2}event seq 1 task task TASK_STATE_SUBMITTED {2}by r1-boot, epoch 1/,
    /\+1510 {2}stream stream-\d+ frame 2: TASK_STATE_WORKING tick 1\/9/,
    /\+2000 {2}FAULT kill r1: by hand/,
    /\+4900 {2}event seq 3 statusUpdate TASK_STATE_FAILED .*\(replica_lost\) {2}by r2-boot, epoch 1/,
    /\+4910 {2}log r2 info: ended the turn of a replica that was lost epoch 1/,
    /\+60000 {2}task row: TASK_STATE_FAILED, version 3/,
  ])
    expect(lines).toMatch(part);
});

describe('a file', () => {
  let folder: string;
  beforeAll(async () => void (folder = await mkdtemp(path.join(tmpdir(), 'a2a-test-'))));
  afterAll(() => rm(folder, { recursive: true }));

  test.each([
    ['{', /file is not JSON/],
    ['{"tasks":[]}', /file is not a history: it names no format/],
    ['null', /file is not a history/],
    ['{"format":7}', /is a history of format 7, this program reads format 2/],
  ])('that holds %s is refused', async (content, says) => {
    const file = path.join(folder, 'file');
    await writeFile(file, content);
    await expect(loadHistory(file)).rejects.toThrow(says);
  });

  test('that is not there is refused', async () => {
    await expect(loadHistory(path.join(folder, 'none'))).rejects.toThrow(/none cannot be read: .*ENOENT/);
  });
});
