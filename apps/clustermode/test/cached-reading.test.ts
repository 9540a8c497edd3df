import { describe, expect, test } from '@jest/globals';
import { createFakeClock } from '@a2a-cluster/testing';
import { cachedReading } from '../src/operator/cached-reading.js';

describe('a cached reading', () => {
  test('reads once per time, however many ask, and anew after it', async () => {
    const clock = createFakeClock();
    let reads = 0;
    const ask = cachedReading({ clock, maxAgeMs: 5_000, read: async () => ++reads });
    expect(await Promise.all([ask(), ask(), ask()])).toEqual([1, 1, 1]);
    await clock.advance(4_999);
    expect(await ask()).toBe(1);
    await clock.advance(1);
    expect(await ask()).toBe(2);
  });

  test('keeps no failure: who asks next reads again', async () => {
    const clock = createFakeClock();
    let reads = 0;
    const read = async (): Promise<number> => {
      reads += 1;
      if (reads === 1) throw new Error('away');
      return reads;
    };
    const ask = cachedReading({ clock, maxAgeMs: 5_000, read });
    await expect(ask()).rejects.toThrow('away');
    expect(await ask()).toBe(2);
  });
});
