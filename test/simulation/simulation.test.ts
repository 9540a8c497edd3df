import { randomInt } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { explain } from './support/explain.js';
import { simulate } from './support/simulate.js';

const { SIMULATION_SEED, SIMULATION_RUNS } = process.env;

/** Without a seed: runs from a random one on, another one in every CI job. */
const runs = Number(SIMULATION_RUNS ?? (SIMULATION_SEED === undefined ? 3_000 : 1));
const firstSeed = Number(SIMULATION_SEED ?? randomInt(2 ** 31));

/** On a busy machine fewer runs have to do; a wish for more by name is granted. */
const longestMs = SIMULATION_RUNS === undefined ? 120_000 : 24 * 3_600_000;

test(
  `in ${runs} random interleavings from seed ${firstSeed} on, every invariant holds`,
  async () => {
    const beganMs = performance.now();
    const failed: number[] = [];
    const total = { runs: 0, steps: 0, tasks: 0, events: 0 };
    while (total.runs < runs && failed.length < 5 && performance.now() - beganMs < longestMs) {
      const { seed, violations, steps, tasks, events } = await simulate({ seed: firstSeed + total.runs });
      if (violations.length > 0) failed.push(seed);
      total.runs += 1;
      total.steps += steps;
      total.tasks += tasks;
      total.events += events;
    }
    if (SIMULATION_SEED !== undefined || SIMULATION_RUNS !== undefined)
      console.log({ ...total, tookMs: Math.round(performance.now() - beganMs) });
    const [first] = failed;
    if (first !== undefined) throw new Error(`seeds ${failed.join(', ')}\n${await explain({ seed: first })}`);
    // A simulation in which nothing happens finds nothing.
    if (total.runs >= 100) expect(total.events).toBeGreaterThan(total.runs * 5);
  },
  longestMs + 60_000,
);

test('the same seed gives the same run, step by step', async () => {
  for (let seed = firstSeed; seed < firstSeed + 10; seed += 1) {
    const once = await simulate({ seed, traced: true });
    const again = await simulate({ seed, traced: true });
    expect(again.trace).toEqual(once.trace);
    expect(again.hash).toBe(once.hash);
    expect((await simulate({ seed: seed + 1, traced: true })).hash).not.toBe(once.hash);
  }
}, 120_000);
