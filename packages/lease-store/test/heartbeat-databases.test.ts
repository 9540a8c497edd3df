import { describe, expect, test } from '@jest/globals';
import { createSilentLogger, createSystemClock, sleep } from '@a2a-cluster/core';
import { createDatabase, type Database } from '@a2a-cluster/db';
import {
  availableProviders,
  createTestDatabase,
  openRaw,
  type TestDatabase,
  type TestProvider,
} from '@a2a-cluster/testing';
import { createHeartbeat, resolveLeaseOptions, type Heartbeat, type LostCause } from '../src/index.js';
import { createTask, HOLDER, takeOver } from './harness.js';

const clock = createSystemClock();
/** Short enough to wait for ten of them, long enough for a machine that does other things as well. */
const options = resolveLeaseOptions({
  ttlMs: 3_000,
  marginMs: 500,
  heartbeatMs: 500,
  renewalTimeoutMs: 700,
  sweepIntervalMs: 500,
});

class Scene {
  private constructor(
    readonly target: TestDatabase,
    readonly db: Database,
    readonly heartbeat: Heartbeat,
  ) {}

  static async open(provider: TestProvider): Promise<Scene> {
    const target = await createTestDatabase({ provider });
    const db = await createDatabase({ url: target.url, ttlMs: options.ttlMs, poolSize: 2 });
    const heartbeat = createHeartbeat({
      leases: db.leases,
      holder: HOLDER,
      options,
      clock,
      logger: createSilentLogger(),
    });
    await heartbeat.start();
    return new Scene(target, db, heartbeat);
  }

  async close(): Promise<void> {
    await this.heartbeat.close();
    await this.db.close();
    await this.target.drop();
  }

  async acquire(taskId: string): Promise<{
    readonly isHeld: () => boolean;
    readonly release: () => Promise<void>;
    readonly lost: Promise<LostCause>;
  }> {
    const sentAtMs = clock.monotonicMs();
    await createTask(this.db, { taskId, ttlMs: options.ttlMs });
    let onLost!: (cause: LostCause) => void;
    const lost = new Promise<LostCause>((resolve) => (onLost = resolve));
    const lease = { taskId, epoch: 1 };
    const held = this.heartbeat.hold({ lease, sentAtMs, onLost, onCancelRequested: () => {} });
    return { isHeld: held.isHeld, release: async () => void (await held.release()), lost };
  }

  async remainingMs(taskId: string): Promise<number | null> {
    return (await this.db.journal.look({ taskId }))?.lease?.remainingMs ?? null;
  }
}

/** Watches three leases for ten TTLs; every provider at once, for the time is the same for all. */
async function outlive(provider: TestProvider): Promise<void> {
  const scene = await Scene.open(provider);
  try {
    const names = ['a', 'b', 'c'];
    const leases = await Promise.all(names.map((name) => scene.acquire(name)));
    for (const until = clock.monotonicMs() + 10 * options.ttlMs; clock.monotonicMs() < until;) {
      await sleep({ clock, delayMs: 500 });
      for (const name of names)
        expect([provider, name, ((await scene.remainingMs(name)) ?? 0) > 0]).toEqual([provider, name, true]);
    }
    expect([provider, ...leases.map((lease) => lease.isHeld())]).toEqual([provider, true, true, true]);
    await Promise.all(leases.map((lease) => lease.release()));
    for (const name of names) expect(await scene.remainingMs(name)).toBeNull();
  } finally {
    await scene.close();
  }
}

describe('a heartbeat', () => {
  test('keeps leases for ten times their TTL on every database, and lets go of them when told', async () => {
    const outcomes = await Promise.allSettled(availableProviders().map(outlive));
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  });

  test.each(availableProviders())(
    'hears of a lease that another turn of the same replica has, on %s',
    async (provider) => {
      const scene = await Scene.open(provider);
      const lease = await scene.acquire('again');
      await takeOver(scene.db, { taskId: 'again', holder: HOLDER });
      expect(await lease.lost).toBe('taken');
      expect(lease.isHeld()).toBe(false);
      await scene.close();
    },
  );
});

describe.each(availableProviders().filter((provider) => provider !== 'sqlite'))(
  'a row locked on %s',
  (provider) => {
    test('costs the others nothing, and is renewed when it is free again', async () => {
      const scene = await Scene.open(provider);
      const raw = await openRaw(scene.target.url);
      try {
        const locked = await scene.acquire('locked');
        const other = await scene.acquire('other');
        await raw.run(`BEGIN; SELECT * FROM task_leases WHERE task_id = 'locked' FOR UPDATE;`);
        await sleep({ clock, delayMs: 1_500 });
        const apart = ((await scene.remainingMs('other')) ?? 0) - ((await scene.remainingMs('locked')) ?? 0);
        expect(apart).toBeGreaterThan(400);
        await raw.run('ROLLBACK');
        await sleep({ clock, delayMs: 3_000 });
        expect([locked.isHeld(), other.isHeld()]).toEqual([true, true]);
      } finally {
        await raw.close();
        await scene.close();
      }
    });
  },
);
