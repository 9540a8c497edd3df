import type { Scenario } from '../scenario.js';
import { nowMs, pause } from '../world/now.js';
import type { World } from '../world/world.js';
import { largest } from './support/numbers.js';
import { expectAllTicks, outcomeOf } from './support/outcome.js';
import { missingServer, useOwnServer, type OwnServer } from './support/own-server.js';

const TASKS = 500;
const TICK_MS = 5_000;
/** `--minutes` makes it shorter, not longer. */
const MOST_MINUTES = 5;
const LEAST_PAUSE_MS = 5_000;
const MOST_PAUSE_MS = 10_000;

/**
 * The database crashes and restarts every 5 to 10 s for five minutes, under 500 turns. SQLite has no server to
 * restart.
 */
export const restarts: Scenario = {
  id: 'R6',
  title: 'the database crashes every few seconds for five minutes',
  databases: ['postgresql', 'mysql'],
  onlyByName: true,
  missing: missingServer,
  async run(world) {
    const server = await useOwnServer(world);
    const replicas = await world.startReplicas(3);
    const forMs = Math.min(MOST_MINUTES, world.options.minutes) * 60_000;
    const tasks = world.quick ? 50 : TASKS;
    const ticks = Math.ceil(forMs / TICK_MS);
    const load = await world.load({ tasks, script: `tick ${ticks} ${TICK_MS}`, holders: replicas });
    world.say(`${load.length} tasks run; the database restarts for ${forMs / 1_000} s`);
    const outages = await crashAgainAndAgain(world, { server, forMs });
    await world.settled({ withinMs: forMs + 3 * world.settings.ttlMs });
    await Promise.all(load.map((task) => task.ended));
    const { completed, failed, other } = await outcomeOf(world, load);
    world.figure('restarts', outages.length);
    world.figure('outage ms max', largest(outages));
    world.figure('completed', completed);
    world.figure('failed', failed);
    world.expect(other === 0, `${other} tasks have no end`);
    // Two in a row count as one, unless a renewal fits between: that they do not is what the pauses are for.
    if (largest(outages) < world.settings.survivableMs) await expectAllTicks(world, load, ticks);
    else world.say('an outage was longer than a turn must survive: failed turns are allowed');
    for (const replica of replicas) {
      world.expect(replica.alive, `${replica.name} is gone`);
      const answer = await replica.as().send({ text: 'tick 1 1' });
      const state = answer.task?.status.state ?? 'refused';
      world.expect(state === 'TASK_STATE_COMPLETED', `a turn on ${replica.name} afterwards is ${state}`);
    }
  },
};

/** How long each outage was. */
async function crashAgainAndAgain(
  world: World,
  { server, forMs }: { readonly server: OwnServer; readonly forMs: number },
): Promise<number[]> {
  const until = nowMs() + forMs;
  const outages: number[] = [];
  while (nowMs() < until) {
    await pause(world.random.int(LEAST_PAUSE_MS, MOST_PAUSE_MS));
    const fault = world.fault('database_down', 'a crash and a restart');
    const downAtMs = nowMs();
    await server.stop('immediate');
    await server.start();
    fault.end();
    outages.push(nowMs() - downAtMs);
  }
  return outages;
}
