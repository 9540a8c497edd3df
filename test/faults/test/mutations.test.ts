import { describe, expect, it } from '@jest/globals';
import { failpointRewrites } from '../hooks/failpoint-rewrites.mjs';
import { mutationNamed, mutations } from '../hooks/mutations.mjs';
import { applyRewrites } from '../hooks/rewrites.mjs';

describe('the test build', () => {
  it.each(mutations.map((mutation) => [mutation.name, mutation] as const))(
    'finds every text of the mutation %s exactly once in the build, beside the failpoints',
    (_, { rewrites, scenarios }) => {
      expect(applyRewrites([...failpointRewrites, ...rewrites]).size).toBeGreaterThan(0);
      expect(scenarios.length).toBeGreaterThan(0);
    },
  );

  it('names the rewrite and the file of a text that is no longer there, or stands there twice', () => {
    const [rewrite] = mutationNamed('fence').rewrites;
    if (rewrite === undefined) throw new Error('no rewrite');
    expect(() => applyRewrites([{ ...rewrite, find: 'nowhere' }])).toThrow(
      /mutation fence.*commit\.js.* 0 times/s,
    );
    expect(() => applyRewrites([{ ...rewrite, find: 'SELECT' }])).toThrow(
      /mutation fence.*commit\.js.* \d+ times/s,
    );
  });

  it('lists the mutations where one is misspelt', () => {
    expect(() => mutationNamed('fense')).toThrow(/no mutation `fense`; there are .*fence/);
  });
});
