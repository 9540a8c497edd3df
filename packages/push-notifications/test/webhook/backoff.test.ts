import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isTooOld, retryDelayMs, type BackoffOptions } from '../../src/index.js';

const attempts = fc.integer({ min: 1, max: 5_000 });
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const options = fc.record({
  firstMs: fc.integer({ min: 1, max: 10_000 }),
  capMs: fc.integer({ min: 10_000, max: 10_000_000 }),
});

interface Made {
  readonly attempts: number;
  readonly random?: number;
  readonly retryAfterMs?: number | null;
  readonly options?: BackoffOptions;
}

function delay({ random: value = 0, retryAfterMs = null, ...rest }: Made): number {
  return retryDelayMs({ ...rest, retryAfterMs, random: () => value });
}

describe('the wait before the next attempt', () => {
  test('starts at half a second to a second and doubles up to five minutes', () => {
    const lower = [1, 2, 3, 4, 8, 9, 10, 20, 2_000].map((count) => delay({ attempts: count }));
    expect(lower).toEqual([500, 1_000, 2_000, 4_000, 64_000, 128_000, 150_000, 150_000, 150_000]);
    const upper = [1, 2, 9, 10, 2_000].map((count) => delay({ attempts: count, random: 0.999_999_999 }));
    expect(upper).toEqual([999, 1_999, 255_999, 299_999, 299_999]);
  });

  test('lies in the upper half of a bound that never falls and never passes the cap', () => {
    fc.assert(
      fc.property(attempts, random, options, (count, value, given) => {
        const wait = delay({ attempts: count, random: value, options: given });
        const least = delay({ attempts: count, random: 0, options: given });
        const top = Math.min(given.capMs, given.firstMs * 2 ** (count - 1));
        expect(Number.isInteger(wait)).toBe(true);
        expect(wait).toBeGreaterThanOrEqual(Math.floor(top / 2));
        expect(wait).toBeLessThanOrEqual(top);
        expect(delay({ attempts: count + 1, random: value, options: given })).toBeGreaterThanOrEqual(wait);
        expect(least).toBeLessThanOrEqual(wait);
      }),
    );
  });

  test('is never shorter than the receiver asked for, and over the cap only then', () => {
    fc.assert(
      fc.property(attempts, random, fc.integer({ min: 0, max: 3_600_000 }), (count, value, retryAfterMs) => {
        const wait = delay({ attempts: count, random: value, retryAfterMs });
        expect(wait).toBe(Math.max(retryAfterMs, delay({ attempts: count, random: value })));
      }),
    );
  });
});

describe('a notification', () => {
  test('is too old after a day, or what is said', () => {
    const day = 86_400_000;
    expect([0, day - 1, day, day + 1].map((failingForMs) => isTooOld({ failingForMs }))).toEqual([
      false,
      false,
      true,
      true,
    ]);
    expect(isTooOld({ failingForMs: 10, maxAgeMs: 10 })).toBe(true);
    expect(isTooOld({ failingForMs: 10, maxAgeMs: 11 })).toBe(false);
  });
});
