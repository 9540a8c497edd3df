import { describe, expect, test } from '@jest/globals';
import { createTestDatabase } from '@a2a-cluster/testing';
import pg from 'pg';
import { alternate, ratioOf } from '../src/harness/alternate.js';
import { countStatements, describeCounts, totalOf } from '../src/harness/statements.js';
import { median, quantile, spreadOf } from '../src/harness/statistics.js';

describe('statistics', () => {
  test('take the nearest rank, and the middle', () => {
    const samples = [5, 1, 4, 2, 3];
    expect(quantile(samples, 0.5)).toBe(3);
    expect(quantile(samples, 0.99)).toBe(5);
    expect(quantile(samples, 0)).toBe(1);
    expect(median([1, 2, 3, 10])).toBe(2.5);
    expect(spreadOf(samples)).toEqual({ min: 1, max: 5, samples: 5 });
    expect(() => quantile([], 0.5)).toThrow(RangeError);
  });
});

describe('alternating', () => {
  test('turns the order round every second round and drops the warm-up', async () => {
    const order: string[] = [];
    let calls = 0;
    const arm = (name: string) => async (): Promise<number> => {
      order.push(name);
      return (calls += 1);
    };
    const numbers = await alternate({ rounds: 2, warmUp: 1, arms: { a: arm('a'), b: arm('b') } });
    expect(order.join('')).toBe('baabba');
    expect(numbers).toEqual({ a: [3, 6], b: [4, 5] });
  });

  test('gives the median of the ratios of each round, not the ratio of the medians', () => {
    expect(ratioOf([10, 2, 3], [10, 1, 1])).toEqual({ value: 2, spread: { min: 1, max: 3, samples: 3 } });
  });
});

describe('counting statements', () => {
  test('names those that have a name of ours without its digest, others by their text', async () => {
    const database = await createTestDatabase({ provider: 'postgresql', migrated: false });
    const counting = countStatements();
    const pool = new pg.Pool({ connectionString: database.url, max: 1 });
    try {
      await pool.query({ name: 'commit_0123456789ab', text: 'SELECT 1' });
      await pool.query('SELECT   2');
      await pool.query('SELECT 2');
      const counts = counting.take();
      expect(totalOf(counts)).toBe(3);
      expect(describeCounts(counts)).toBe('2 x SELECT 2; 1 x commit');
      expect(totalOf(counting.take())).toBe(0);
      counting.stop();
      await pool.query('SELECT 3');
      expect(totalOf(counting.take())).toBe(0);
    } finally {
      counting.stop();
      await pool.end();
      await database.drop();
    }
  });
});
