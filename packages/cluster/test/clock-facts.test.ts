import { describe, expect, test } from '@jest/globals';
import { createSystemClock, type Logger } from '@a2a-cluster/core';
import { judgeSkew } from '../src/clock-facts.js';
import { newCluster } from './support.js';

const HOUR_MS = 3_600_000;

function collecting(): { readonly logger: Logger; readonly warnings: string[] } {
  const warnings: string[] = [];
  const ignore = (): void => {};
  const warn = (_: object, text: string): void => void warnings.push(text);
  return { logger: { debug: ignore, info: ignore, warn, error: ignore } as unknown as Logger, warnings };
}

describe('the clocks of a database and of a process', () => {
  test.each([
    [-3_000, /3000 ms behind/],
    [HOUR_MS, /3600000 ms ahead of/],
  ])('%i ms apart are told, with the side', (skewMs, text) => {
    const beforeMs = 1_000_000;
    const warning = judgeSkew({ databaseMs: beforeMs + skewMs, beforeMs, afterMs: beforeMs });
    expect(warning).toMatch(text);
    expect(warning).toMatch(/NTP/);
  });

  test('are no matter as far as the round trip explains it', () => {
    const readings = { databaseMs: 9_000, beforeMs: 1_000, afterMs: 11_000 };
    expect(judgeSkew(readings)).toBeNull();
    expect(judgeSkew({ ...readings, databaseMs: 12_900 })).toBeNull();
  });

  test('of a replica an hour behind are told at its start', async () => {
    const clock = createSystemClock();
    const behind = {
      ...clock,
      wallIso: () => new Date(Date.parse(clock.wallIso()) - HOUR_MS).toISOString(),
    };
    const { logger, warnings } = collecting();
    const cluster = await newCluster({ clock: behind, logger });
    await cluster.close();
    expect(warnings).toEqual([expect.stringMatching(/ahead of this machine's/)]);
  });

  test('that agree are not spoken of', async () => {
    const { logger, warnings } = collecting();
    await (await newCluster({ logger })).close();
    expect(warnings).toEqual([]);
  });
});
