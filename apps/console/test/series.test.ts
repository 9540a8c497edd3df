import { describe, expect, test } from '@jest/globals';
import type { Sample } from '../src/api/index.js';
import { backoffMs } from '../src/state/backoff.js';
import { columnsOf, lastMinute, thin } from '../src/text/series.js';

function sample(atMs: number, running = 0): Sample {
  return {
    ...{
      atMs,
      replicas: 1,
      running,
      subscribers: 0,
      startedPerMin: running,
      endedPerMin: 0,
      parkedPerMin: 0,
    },
    ...{ refusedPerMin: 0, sweptPerMin: 0, pushDeliveredPerMin: 0, pushFailedPerMin: 0 },
  };
}

const series = [{ label: 'Running', value: ({ running }: Sample) => running }];

describe('the columns of a chart', () => {
  test('are seconds and values', () => {
    expect(columnsOf([sample(1_000, 4), sample(6_000, 5)], series)).toEqual([
      [1, 6],
      [4, 5],
    ]);
  });

  test('have a gap where nothing was heard', () => {
    expect(columnsOf([sample(0, 1), sample(200_000, 2)], series)).toEqual([
      [0, 100, 200],
      [1, null, 2],
    ]);
  });
});

test('a table has few rows, the newest and the oldest among them', () => {
  const samples = Array.from({ length: 100 }, (_, index) => sample(index));
  const few = thin(samples, 15);
  expect(few).toHaveLength(15);
  expect([few[0], few.at(-1)]).toEqual([samples[0], samples[99]]);
  expect(thin(samples.slice(0, 3), 15)).toHaveLength(3);
});

test('the rate of the last minute is the mean of its samples', () => {
  const samples = [sample(0, 100), sample(60_000, 10), sample(119_000, 20)];
  expect(lastMinute({ samples }, ({ startedPerMin }) => startedPerMin)).toBe(15);
  expect(lastMinute({ samples: [] }, ({ startedPerMin }) => startedPerMin)).toBeNull();
});

test('attempts to reconnect are ever rarer, up to 15 s, and not all at once', () => {
  expect([1, 2, 3].map((attempt) => backoffMs(attempt, 0))).toEqual([500, 1_000, 2_000]);
  expect(backoffMs(50, 0)).toBe(15_000);
  expect(backoffMs(50, 1)).toBe(7_500);
});
