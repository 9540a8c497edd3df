import { afterEach, describe, expect, test } from '@jest/globals';
import type { Clock } from '@a2a-cluster/core';
import { createMemoryDatabase } from '@a2a-cluster/db';
import { createFakeClock, type FakeClock } from '@a2a-cluster/testing';
import { taskEvent } from '../../../test/integration/support/events.js';
import { turnOf, type Cluster, type ClusterOptions } from '../src/index.js';
import { notAliveReasons } from '../src/status.js';
import { executor, newCluster, request, send, until, watchedDatabase } from './support.js';

const clusters: Cluster[] = [];

async function start(options: Partial<ClusterOptions>): Promise<Cluster> {
  const cluster = await newCluster(options);
  clusters.push(cluster);
  await cluster.start();
  return cluster;
}

afterEach(async () => {
  for (const cluster of clusters.splice(0)) void cluster.close({ drainTimeoutMs: 1 });
});

/** Publishes its task, then waits for whatever comes. */
const endless = executor((context, bus) => {
  bus.publish(taskEvent(context));
  return new Promise((resolve) => turnOf(context).signal.addEventListener('abort', () => resolve()));
});

/** Intervals that tell by their length whose timer it is. */
const HEARTBEAT_MS = 101;
const POLL_MS = 251;
const lease = { ttlMs: 3_000, heartbeatMs: HEARTBEAT_MS, sweepIntervalMs: 200 };

/** A clock that loses timers: what is set with a matching delay never comes. */
function lossyClock(inner: FakeClock): { readonly clock: Clock; lose(delayMs: number): void } {
  let lost = NaN;
  return {
    lose: (delayMs) => void (lost = delayMs),
    clock: {
      monotonicMs: () => inner.monotonicMs(),
      wallIso: () => inner.wallIso(),
      setTimer: (delayMs, action) =>
        inner.setTimer(delayMs, Math.round(delayMs) === lost ? () => {} : action),
    },
  };
}

describe('a replica is alive', () => {
  test('while the database gives no answer at all, however long: its loops go on asking', async () => {
    const clock = createFakeClock();
    const watched = watchedDatabase(createMemoryDatabase({ clock }));
    const cluster = await start({ clock, lease, database: watched.database, executor: endless });
    await send(cluster, request('go', { immediately: true }));
    await clock.advance(500);
    watched.hang();
    watched.calls.length = 0;
    await clock.advance(2_500);
    expect(cluster.status()).toMatchObject({ alive: true, notAlive: [], ready: false });
    expect(watched.calls.filter((name) => name === 'beat').length).toBeGreaterThan(1);
    await clock.advance(120_000);
    expect(cluster.status()).toMatchObject({ alive: true, notAlive: [], ready: false });
  });

  test('before it was started and after it was closed, when nothing is to run', async () => {
    const clock = createFakeClock();
    const cluster = await newCluster({ clock, lease, database: createMemoryDatabase({ clock }) });
    await clock.advance(60_000);
    expect(cluster.status().alive).toBe(true);
    await cluster.start();
    const closed = cluster.close({ drainTimeoutMs: 1 });
    await clock.advance(10_000);
    await closed;
    await clock.advance(60_000);
    expect(cluster.status().alive).toBe(true);
  });
});

describe('a replica cannot do its work', () => {
  test('when the timer of its heartbeat was lost, once three intervals and a renewal are over', async () => {
    const fake = createFakeClock();
    const { clock, lose } = lossyClock(fake);
    const cluster = await start({ clock, lease, database: createMemoryDatabase({ clock: fake }) });
    await fake.advance(1_000);
    expect(cluster.status().alive).toBe(true);
    lose(HEARTBEAT_MS);
    await fake.advance(3 * HEARTBEAT_MS + 600);
    expect(cluster.status().alive).toBe(true);
    await fake.advance(HEARTBEAT_MS + 1);
    expect(cluster.status().notAlive).toEqual([
      expect.stringMatching(/^the heartbeat has not run for \d+ ms$/),
    ]);
  });

  test('when the timer of its dispatcher was lost while somebody follows a task', async () => {
    const fake = createFakeClock();
    const { clock, lose } = lossyClock(fake);
    const database = createMemoryDatabase({ clock: fake });
    const cluster = await start({ clock, lease, database, executor: endless, pollIntervalMs: POLL_MS });
    await send(cluster, request('go', { immediately: true }));
    lose(POLL_MS);
    await fake.advance(30_000);
    expect(cluster.status().alive).toBe(true);
    await fake.advance(POLL_MS + 1);
    expect(cluster.status().notAlive).toEqual([
      expect.stringMatching(/^nobody has tried to read the log for \d+ ms$/),
    ]);
  });

  test('when an agent blocks the event loop for longer than a lease is trusted, for as long as that is lately', async () => {
    const short = {
      ttlMs: 600,
      marginMs: 100,
      heartbeatMs: 100,
      renewalTimeoutMs: 100,
      sweepIntervalMs: 100,
    };
    const blocking = executor(
      async () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000),
    );
    const cluster = await start({ lease: short, executor: blocking });
    expect(cluster.status()).toMatchObject({ alive: true, eventLoopDelayMs: expect.any(Number) });
    await send(cluster, request('block')).catch(() => {});
    expect(cluster.status().notAlive).toContainEqual(
      expect.stringMatching(/^the event loop stood still for \d+ ms$/),
    );
    await until(() => cluster.status().alive);
  });
});

describe('the reasons', () => {
  const well = {
    phase: 'running' as const,
    lastBeatAttemptAgeMs: 400,
    stream: { lastAttemptAgeMs: 1_000, attemptLimitMs: 1_000 },
    eventLoopDelayMs: 900,
    lease: { ttlMs: 1_000, marginMs: 100, heartbeatMs: 100, renewalTimeoutMs: 100 },
  };

  test.each([
    [{}, 0],
    [{ lastBeatAttemptAgeMs: null, stream: { lastAttemptAgeMs: null, attemptLimitMs: 1 } }, 0],
    [{ lastBeatAttemptAgeMs: 401 }, 1],
    [{ stream: { lastAttemptAgeMs: 1_001, attemptLimitMs: 1_000 } }, 1],
    [{ eventLoopDelayMs: 901 }, 1],
    [{ lastBeatAttemptAgeMs: 401, eventLoopDelayMs: 901, phase: 'draining' as const }, 2],
    [{ lastBeatAttemptAgeMs: 401, phase: 'closed' as const }, 0],
    [{ eventLoopDelayMs: 901, phase: 'starting' as const }, 0],
  ])('follow from the facts (%j)', (facts, count) => {
    expect(notAliveReasons({ ...well, ...facts })).toHaveLength(count);
  });
});
