import { describe, expect, test } from '@jest/globals';
import type { ReplicaListing } from '@a2a-cluster/db';
import { Random } from '@a2a-cluster/testing';
import { SampleRing, countedSince, sampleOf, type Reading } from '../../src/console/samples.js';
import { listing } from './listings.js';

function reading(readAtMs: number, replicas: readonly ReplicaListing[]): Reading {
  return { readAtMs, atMs: 1_000_000 + readAtMs, replicas };
}

describe('a sample', () => {
  test('has rates over the time since the one before', () => {
    const before = reading(0, [listing('a', { stats: { turnsStarted: 10, turnsEnded: 9 } })]);
    const now = reading(5_000, [
      listing('a', { stats: { turnsStarted: 15, turnsEnded: 10, runningTurns: 5, subscribers: 2 } }),
    ]);
    expect(sampleOf(before, now).shown).toMatchObject({
      ...{ startedPerMin: 60, endedPerMin: 12, parkedPerMin: 0, running: 5, subscribers: 2, replicas: 1 },
      atMs: 1_005_000,
    });
  });

  test('counts of a replica that was not there before only what it can have done since', () => {
    const before = reading(0, []);
    const stats = { turnsEnded: 40 };
    const old = reading(5_000, [listing('old', { upMs: 3_600_000, stats })]);
    const fresh = reading(5_000, [listing('fresh', { upMs: 4_000, stats })]);
    expect(sampleOf(before, old).shown.endedPerMin).toBe(0);
    expect(sampleOf(before, fresh).shown.endedPerMin).toBe(480);
    expect(sampleOf(null, old).shown.endedPerMin).toBe(0);
  });

  test('leaves the turns of a silent replica out of those that run', () => {
    const dead = listing('dead', { beatAgeMs: 15_001, stats: { runningTurns: 9, subscribers: 9 } });
    const { shown } = sampleOf(null, reading(0, [dead, listing('b', { stats: { runningTurns: 1 } })]));
    expect(shown).toMatchObject({ replicas: 1, running: 1, subscribers: 0 });
  });

  test('never has a rate below zero or beyond what was counted, whatever replicas come, go and start again', () => {
    for (let seed = 1; seed <= 200; seed += 1) walk(new Random(seed));
  });
});

/** Replicas that count, start again and vanish at random; all that is sampled was counted, once. */
function walk(random: Random): void {
  const replicas = new Map<string, { startedMs: number; ended: number }>();
  let nowMs = 0;
  let before: Reading | null = null;
  let ended = 0;
  let sampled = 0;
  for (let step = 0; step < 40; step += 1) {
    nowMs += random.int(1, 30_000);
    const id = `r-${random.int(0, 4)}`;
    const what = random.int(0, 9);
    if (what === 0) replicas.delete(id);
    else if (what === 1) replicas.set(id, { startedMs: nowMs, ended: 0 });
    for (const replica of replicas.values()) {
      const more = random.int(0, 50);
      replica.ended += more;
      ended += more;
    }
    const rows = [...replicas].map(([name, { startedMs, ended: turnsEnded }]) =>
      listing(name, { upMs: nowMs - startedMs, stats: { turnsEnded } }),
    );
    const now = reading(nowMs, rows);
    const { shown, counted } = sampleOf(before, now);
    const wrong = Object.entries(shown).filter(([, value]) => !(Number.isFinite(value) && value >= 0));
    if (wrong.length > 0 || shown.endedPerMin > counted.turnsEnded * 600 + 0.05)
      throw new Error(JSON.stringify(shown));
    sampled += counted.turnsEnded;
    before = now;
  }
  expect(sampled).toBeLessThanOrEqual(ended);
}

describe('the ring', () => {
  const ring = (): SampleRing => new SampleRing({ keptMs: 3_600_000, leastGapMs: 4_000 });

  test('takes a reading once, and none too soon after another', () => {
    const samples = ring();
    expect(samples.take(reading(0, []))).toBe(true);
    expect(samples.take(reading(0, []))).toBe(false);
    expect(samples.take(reading(3_999, []))).toBe(false);
    expect(samples.take(reading(4_000, []))).toBe(true);
  });

  test('loses nothing of what was counted while it took none', () => {
    const samples = ring();
    const ended = (turnsEnded: number): ReplicaListing[] => [listing('a', { stats: { turnsEnded } })];
    samples.take(reading(0, ended(0)));
    samples.take(reading(2_000, ended(5)));
    samples.take(reading(6_000, ended(8)));
    expect(samples.all().map(({ counted }) => counted.turnsEnded)).toEqual([0, 8]);
  });

  test('forgets what is older than it keeps', () => {
    const short = new SampleRing({ keptMs: 660_000, leastGapMs: 4_000 });
    for (let atMs = 0; atMs <= 1_200_000; atMs += 5_000) short.take(reading(atMs, []));
    const times = short.all().map(({ shown }) => shown.atMs - 1_000_000);
    expect(times[0]).toBeGreaterThanOrEqual(540_000);
    expect(times.at(-1)).toBe(1_200_000);
  });

  test('keeps an hour in few samples, and loses nothing of what was counted', () => {
    const samples = new SampleRing({ keptMs: 3_600_000, leastGapMs: 4_000 });
    let turnsEnded = 0;
    for (let atMs = 0; atMs <= 3_600_000; atMs += 5_000) {
      samples.take(reading(atMs, [listing('a', { stats: { turnsEnded } })]));
      turnsEnded += 5;
    }
    const all = samples.all();
    expect(all.length).toBeLessThan(240);
    expect(all.reduce((sum, { counted }) => sum + counted.turnsEnded, 0)).toBe(turnsEnded - 5);
    expect(new Set(all.slice(1).map(({ shown }) => shown.endedPerMin))).toEqual(new Set([60]));
    const times = all.map(({ shown }) => shown.atMs);
    expect(times).toEqual([...times].sort((a, b) => a - b));
  });

  test('two readings of one moment are no division by zero', () => {
    const a = reading(0, [listing('a')]);
    const b = reading(1, [listing('a', { stats: { turnsEnded: 3 } })]);
    expect(sampleOf(a, b).shown.endedPerMin).toBe(0);
    expect(countedSince(a, b).turnsEnded).toBe(3);
  });
});
