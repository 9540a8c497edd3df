import { describe, expect, jest, test } from '@jest/globals';
import { availableProviders } from '@a2a-cluster/testing';
import { runUpgrade, type Step } from '../faults/src/upgrade/run-upgrade.js';

jest.setTimeout(240_000);

/** Small, so that what is shown is that every step works; `npm run upgrade` measures two million. */
const TASKS = 20_000;
const MOST_MS = 1_000;

const longest = ({ longestMs }: Step): number => Math.max(0, ...Object.values(longestMs));

(availableProviders().includes('postgresql') ? describe : describe.skip)('an upgrade under traffic', () => {
  test('builds indexes beforehand as the README says, repairs a build that was cancelled, and deploys the rest', async () => {
    const { steps, problems } = await runUpgrade(TASKS);
    expect(problems).toEqual([]);
    const names = steps.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['a cancelled build', 'its repair', 'migrate deploy']));
    const alone = longest(steps[0] as Step);
    for (const step of steps) {
      expect(step.statements).toBeGreaterThan(0);
      // A machine that is busy with other things is slow in the first step too.
      expect(longest(step)).toBeLessThan(Math.max(MOST_MS, 10 * alone));
    }
  });
});
