import { beforeEach, describe, expect, test } from '@jest/globals';
import { createTally, type HistogramName, type Tally } from '@a2a-cluster/core';
import { createHarness, hang, type Harness } from './harness.js';

describe('what a heartbeat tells of', () => {
  let tally: Tally;
  let observed: [HistogramName, number][];
  let h: Harness;

  beforeEach(async () => {
    observed = [];
    tally = createTally({ count: () => {}, observe: (name, value) => observed.push([name, value]) });
    h = createHarness({ telemetry: tally });
    await h.heartbeat.start();
  });

  const of = (name: HistogramName): number[] =>
    observed.filter(([is]) => is === name).map(([, value]) => value);

  test('each lease that is renewed, and what was left of the tightest', async () => {
    await h.acquire('a');
    await h.clock.advance(2_000);
    await h.acquire('b');
    await h.clock.advance(8_000);
    expect(tally.total('leases_renewed_total')).toBe(4);
    expect(of('renewal_seconds')).toEqual([0, 0]);
    // TTL - margin is 13.5 s; the first beat comes 5 s after the older lease, the second 5 s after the first.
    expect(of('renewal_margin_seconds')).toEqual([8.5, 8.5]);
    await h.heartbeat.close();
  });

  test('beats that are not answered, with the time they were waited for, and the leases they cost', async () => {
    const { lost } = await h.acquire('a');
    h.fault.beat = hang;
    await h.clock.advance(13_500);
    expect(lost).toHaveLength(1);
    expect(tally.total('heartbeats_failed_total')).toBeGreaterThan(1);
    expect(of('renewal_seconds')[0]).toBe(3);
    expect(of('renewal_margin_seconds')).toEqual([]);
    expect(tally.total('leases_lost_total', { cause: 'deadline' })).toBe(1);
    await h.heartbeat.close();
  });

  test('a loss that its holder has noticed by itself, once, and without telling it', async () => {
    const { held, lost } = await h.acquire('a');
    held.noteLost('taken');
    held.noteLost('gone');
    held.judge();
    held.end();
    expect(held.isHeld()).toBe(false);
    expect([tally.total('leases_lost_total', { cause: 'taken' }), tally.total('leases_lost_total')]).toEqual([
      1, 1,
    ]);
    expect(lost).toEqual([]);
    expect(h.heartbeat.status().heldCount).toBe(0);
    const ended = await h.acquire('b');
    ended.held.end();
    ended.held.noteLost('gone');
    expect(tally.total('leases_lost_total')).toBe(1);
    await h.heartbeat.close();
  });
});
