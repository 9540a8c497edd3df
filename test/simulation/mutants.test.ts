import { expect, test } from '@jest/globals';
import { MUTANTS } from './support/mutants.js';
import { simulate } from './support/simulate.js';

/** Runs until a mutant must have been found, from a fixed seed: what is found once is found always. */
const MOST_RUNS = 500;

test.each(MUTANTS)(
  'the simulation finds $name',
  async ({ found, ...mutant }) => {
    const seen: string[] = [];
    for (let seed = 1; seed <= MOST_RUNS; seed += 1) {
      const { violations } = await simulate({ seed, ...mutant });
      if (violations.some((violation) => found.test(violation))) {
        if (process.env['SIMULATION_RUNS']) console.log('found at', seed, violations[0]);
        return;
      }
      seen.push(...violations);
    }
    expect(seen.slice(0, 5)).toContain(found);
  },
  300_000,
);
