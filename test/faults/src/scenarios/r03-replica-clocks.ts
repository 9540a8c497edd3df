import type { Scenario } from '../scenario.js';
import { missingStepClock } from '../tools/step-clock.js';
import { pause } from '../world/now.js';
import type { Replica } from '../world/replica.js';
import type { World } from '../world/world.js';
import { clockOf, HOUR_MS } from './support/clocks.js';
import { detectionsMs } from './support/detection.js';
import { allEnded } from './support/ended.js';
import { largest } from './support/numbers.js';
import { expectAllTicks } from './support/outcome.js';

/** How much faster than time one replica's clock goes. */
const RATE = 1.2;
/** Clocks are what this is about, not load. */
const PACE_MS = 100;
/** So often it is moved on. */
const EVERY_MS = 100;

/**
 * Replicas whose clocks are an hour ahead, an hour behind, jump, and go too fast: nothing is judged by them. No live
 * lease is swept, a dead one is, by sweepers with wrong clocks, and what is stored is dated by the database. SQLite
 * takes its time from the process, so its replicas share one clock: the machine's.
 */
export const replicaClocks: Scenario = {
  id: 'R3',
  title: 'the clocks of replicas are wrong, jump and go too fast',
  databases: ['postgresql', 'mysql'],
  missing: missingStepClock,
  async run(world) {
    const { ahead, behind, jumping, fast } = await startAll(world);
    const holders = [ahead, behind, jumping, fast];
    const { ttlMs } = world.settings;
    const ticks = Math.ceil((2.5 * ttlMs) / PACE_MS);
    const load = await world.load({
      tasks: tasksOf(world),
      script: `tick ${ticks} ${PACE_MS}; done`,
      holders: holders.map(({ replica }) => replica),
      push: false,
    });
    for (const step of [HOUR_MS, -2 * HOUR_MS, HOUR_MS]) {
      await pause(ttlMs / 2);
      jumping.step(step);
    }
    await allEnded(world, { streams: load, turnMs: ticks * PACE_MS });
    await expectAllTicks(world, load, ticks);
    await killOne(world, { victim: ahead.replica, watchers: [behind.replica, jumping.replica] });
    await datedByTheDatabase(world);
  },
};

interface Clocked {
  readonly replica: Replica;
  step(ms: number): void;
}

async function startAll(world: World): Promise<Record<'ahead' | 'behind' | 'jumping' | 'fast', Clocked>> {
  const [ahead, behind, jumping, fast] = await Promise.all(
    ['an hour ahead', 'an hour behind', 'jumps', `${RATE} times as fast`].map((detail) =>
      startOne(world, detail),
    ),
  );
  if (!ahead || !behind || !jumping || !fast) throw new Error('not all were started');
  const timer = setInterval(() => fast.step(EVERY_MS * (RATE - 1)), EVERY_MS);
  world.atEnd(async () => clearInterval(timer));
  return { ahead, behind, jumping, fast };
}

async function startOne(world: World, detail: string): Promise<Clocked> {
  const clock = clockOf(world);
  if (detail.includes('hour')) clock.step(detail.includes('ahead') ? HOUR_MS : -HOUR_MS);
  const replica = await world.startReplica({ env: clock.env });
  replica.fault('clock', detail);
  return { replica, step: (ms) => clock.step(ms) };
}

interface Death {
  readonly victim: Replica;
  readonly watchers: readonly Replica[];
}

/** Sweepers with wrong clocks end the turns of a dead replica in time. */
async function killOne(world: World, { victim, watchers }: Death): Promise<void> {
  const { ttlMs } = world.settings;
  await world.load({ tasks: 5, script: 'tick 400 50', holders: [victim], watchers });
  await victim.kill();
  await world.settled({ withinMs: ttlMs + 1_000 });
  const detections = await detectionsMs(world);
  world.figure('detection ms max', largest(detections));
  world.expect(detections.length === 5, `${detections.length} of 5 turns of a dead replica were ended`);
}

/** Nothing that was stored is dated an hour away. */
async function datedByTheDatabase(world: World): Promise<void> {
  const { events } = await world.database.read(await world.database.aheadMs());
  const { beganAtMs } = world.recorder;
  const furthestMs = largest(events.map(({ createdAtMs }) => Math.abs(createdAtMs - beganAtMs)));
  world.expect(furthestMs < HOUR_MS / 2, `a row is dated ${Math.round(furthestMs / 1_000)} s from the begin`);
}

function tasksOf(world: World): number {
  return world.provider === 'postgresql' ? 12 : 8;
}
