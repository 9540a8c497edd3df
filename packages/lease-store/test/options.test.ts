import { describe, expect, test } from '@jest/globals';
import { isClusterError } from '@a2a-cluster/core';
import { resolveLeaseOptions, survivableBlackoutMs, type LeaseOptions } from '../src/index.js';

function refusal(options: LeaseOptions): {
  readonly message: string;
  readonly violations: readonly string[];
} {
  try {
    resolveLeaseOptions(options);
  } catch (error) {
    if (!isClusterError(error, 'CONFIG_INVALID')) throw error;
    return { message: error.message, violations: error.details['violations'] as string[] };
  }
  throw new Error('was accepted');
}

describe('lease options', () => {
  test('are those of the protocol when nothing is given', () => {
    expect(resolveLeaseOptions()).toEqual({
      ttlMs: 15_000,
      heartbeatMs: 5_000,
      marginMs: 1_500,
      renewalTimeoutMs: 3_000,
      sweepIntervalMs: 5_000,
      cancelGraceMs: 10_000,
    });
    expect(survivableBlackoutMs(resolveLeaseOptions())).toBe(5_500);
  });

  test('follow a short TTL', () => {
    expect(resolveLeaseOptions({ ttlMs: 3_000, heartbeatMs: 500 })).toEqual({
      ttlMs: 3_000,
      heartbeatMs: 500,
      marginMs: 1_000,
      renewalTimeoutMs: 600,
      sweepIntervalMs: 1_000,
      cancelGraceMs: 1_000,
    });
    expect(resolveLeaseOptions({ ttlMs: 6_000 }).heartbeatMs).toBe(1_900);
  });

  test('are refused when a turn would not outlive one failed beat, with both numbers', () => {
    const { message, violations } = refusal({ ttlMs: 15_000, heartbeatMs: 6_000 });
    expect(violations).toHaveLength(1);
    expect(message).toContain('13500');
    expect(message).toContain('15000)');
  });

  test('are accepted at the very edge of the relation', () => {
    const edge = { ttlMs: 10_000, marginMs: 1_000, renewalTimeoutMs: 1_000, sweepIntervalMs: 8_333 };
    expect(resolveLeaseOptions({ ...edge, heartbeatMs: 4_000 }).heartbeatMs).toBe(4_000);
    expect(refusal({ ...edge, heartbeatMs: 4_001 }).violations).toHaveLength(1);
    expect(refusal({ ...edge, sweepIntervalMs: 8_334 }).message).toContain('10001');
  });

  test('report every violation at once', () => {
    const { violations } = refusal({
      ttlMs: 2_000,
      heartbeatMs: 900,
      sweepIntervalMs: 5_000,
      cancelGraceMs: 1.5,
    });
    expect(violations).toHaveLength(3);
    expect(violations.join()).toMatch(/cancelGraceMs.*1\.5.*heartbeatMs.*sweepIntervalMs/s);
  });

  test.each([0, -1, 1.5, Number.NaN, Infinity])('refuse %d as a duration, once', (ttlMs) => {
    expect(refusal({ ttlMs }).violations).toEqual([
      `ttlMs must be a positive whole number of milliseconds, not ${ttlMs}`,
    ]);
  });

  test('say that a TTL is too short for the default margin', () => {
    expect(refusal({ ttlMs: 1_000 }).message).toContain('1000 - 1000 = 0');
  });
});
