import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, test } from '@jest/globals';
import { hasTools } from '@a2a-cluster/testing';
import { fakeTimeEnv, jumpTo, missingFakeTime } from '../../src/tools/faketime.js';
import { tempFolder } from '../../src/tools/processes.js';

const runs = hasTools({ tests: 'wrong clocks', missing: missingFakeTime() });

/** Tells, for each line it hears, how far its wall clock is off and how long a timer of 300 ms took. */
const program = `require('node:readline').createInterface({ input: process.stdin }).on('line', () => {
  const [wall, mono] = [Date.now(), performance.now()];
  setTimeout(() => console.log(JSON.stringify({ wall, passed: Date.now() - wall, took: performance.now() - mono })), 300);
}).on('close', () => process.exit());`;

let child: ChildProcess | undefined;
let lines: AsyncIterator<string>;

function start(env: Readonly<Record<string, string>> | null): void {
  child = spawn(process.execPath, ['-e', program], {
    env: { ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  if (child.stdout) lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
}

async function ask(): Promise<{ offS: number; passed: number; took: number }> {
  child?.stdin?.write('\n');
  const { value } = await lines.next();
  const { wall, passed, took } = JSON.parse(String(value)) as { wall: number; passed: number; took: number };
  return { offS: (wall - Date.now()) / 1_000, passed, took };
}

afterEach(async () => {
  if (!child) return;
  const ended = once(child, 'exit');
  child.stdin?.end();
  await ended;
  child = undefined;
});

(runs ? describe : describe.skip)('a Node process with a wrong clock', () => {
  test('is an hour ahead, then behind, and its timers run on', async () => {
    const folder = tempFolder('faketime');
    const file = path.join(folder.path, 'offset');
    start(fakeTimeEnv({ offset: '+1h', file }));
    const ahead = await ask();
    jumpTo(file, '-3600');
    const behind = await ask();
    folder.remove();
    expect(Math.round(ahead.offS / 60)).toBe(60);
    expect(Math.round(behind.offS / 60)).toBe(-60);
    for (const { took } of [ahead, behind]) expect(took).toBeGreaterThanOrEqual(290);
    for (const { took } of [ahead, behind]) expect(took).toBeLessThan(2_000);
  });

  test('runs too fast while its timers keep real time', async () => {
    start(fakeTimeEnv({ rate: 5 }));
    const { passed, took } = await ask();
    expect(took).toBeGreaterThanOrEqual(290);
    expect(passed / took).toBeGreaterThan(4);
  });
});

test('an offset that libfaketime would not understand is refused', () => {
  expect(() => jumpTo('/nowhere', 'tomorrow')).toThrow('tomorrow');
});
