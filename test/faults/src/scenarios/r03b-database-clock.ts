import { createTestDatabase } from '@a2a-cluster/testing';
import type { Scenario } from '../scenario.js';
import { missingMariadb, startPrivateMariadb } from '../tools/private-mariadb.js';
import { missingPostgres, startPrivatePostgres } from '../tools/private-postgres.js';
import { limit, nowMs } from '../world/now.js';
import type { Replica } from '../world/replica.js';
import type { World } from '../world/world.js';
import { HOUR_MS } from './support/clocks.js';
import { allEnded } from './support/ended.js';
import { expectAllTicks } from './support/outcome.js';

/** Turns of the replica that dies. */
const DEAD = 5;

/**
 * The database's own clock is stepped by an hour, forwards, so that every lease looks expired, and backwards, so that
 * those of dead replicas look good for an hour more. Live turns go on, and dead ones are ended after a quiet period.
 */
export const databaseClock: Scenario = {
  id: 'R3b',
  title: "the database's clock is stepped by an hour, forwards and backwards",
  databases: ['postgresql', 'mysql'],
  missing: (database) => (database === 'mysql' ? missingMariadb : missingPostgres)({ fakeClock: true }),
  async run(world) {
    world.databaseClockIsSteady = false;
    const { provider } = world;
    const start = provider === 'mysql' ? startPrivateMariadb : startPrivatePostgres;
    const server = await start({ fakeClock: true });
    world.atEnd(() => server.remove());
    const { url } = await createTestDatabase({ provider, server: server.url() });
    await world.useDatabase(url);
    const [first, second, ...others] = await world.startReplicas(4);
    if (first === undefined || second === undefined) return;
    for (const [victim, stepMs] of [
      [first, HOUR_MS],
      [second, -HOUR_MS],
    ] as const)
      await stepOnce(world, { victim, stepMs, others, step: () => server.stepClock(stepMs) });
  },
};

interface Step {
  readonly victim: Replica;
  readonly others: readonly Replica[];
  readonly stepMs: number;
  step(): void;
}

async function stepOnce(world: World, { victim, others, stepMs, step }: Step): Promise<void> {
  const { ttlMs, sweepIntervalMs } = world.settings;
  const ticks = Math.ceil((3 * ttlMs) / 100);
  const live = await world.load({
    tasks: 9,
    script: `tick ${ticks} 100; done`,
    push: false,
    holders: others,
  });
  const dead = await world.load({
    tasks: DEAD,
    script: 'tick 2000 100',
    holders: [victim],
    watchers: others,
  });
  const way = stepMs > 0 ? 'forwards' : 'backwards';
  const fault = world.fault('clock', `the database's clock goes an hour ${way}`);
  // Dead first, so that none of its leases is renewed by the new time.
  await victim.kill();
  step();
  fault.end();
  const beganAtMs = nowMs();
  const limitMs = quietMs(world) + ttlMs + sweepIntervalMs + 1_000;
  const ends = await Promise.race([Promise.all(dead.map(({ ended }) => ended)), limit(limitMs)]);
  world.figure(`${way}: dead turns ended after ms`, nowMs() - beganAtMs);
  world.expect(ends !== null, `${way}: the turns of a dead replica were not ended within ${limitMs} ms`);
  await allEnded(world, { streams: live, turnMs: ticks * 100 });
  await world.settled({ withinMs: limitMs });
  await expectAllTicks(world, live, ticks);
  const noticed = world.recorder.logs.filter(({ fields }) => fields['cause'] === 'clock_step').length;
  world.figure(`${way}: replicas that noticed`, noticed);
  world.expect(noticed > 0, `${way}: no replica noticed the step`);
}

/** From the step to the end of the quiet period: the next pass of a sweeper notices, and waits for a TTL. */
function quietMs(world: World): number {
  const { ttlMs, sweepIntervalMs } = world.settings;
  return sweepIntervalMs * 1.2 + ttlMs;
}
