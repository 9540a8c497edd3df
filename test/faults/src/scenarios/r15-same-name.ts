import type { Scenario } from '../scenario.js';
import type { LoadTask } from '../world/load.js';
import type { Replica } from '../world/replica.js';
import type { World } from '../world/world.js';
import { outcomeOf } from './support/outcome.js';

const TWIN = 'twin';
/** Ends by itself, some heartbeats after everything else. */
const SHORT = 'tick 60 100; done';

/**
 * Two boots have the same `REPLICA_ID`, first at once, then one after the other. Neither may renew, drop or go on
 * with what is the other's.
 */
export const sameName: Scenario = {
  id: 'R15',
  title: 'the same replica name twice, and again after a restart',
  databases: ['postgresql', 'mysql', 'sqlite'],
  async run(world) {
    const watcher = await world.startReplica();
    const [one, two] = await Promise.all(
      ['twin-1', 'twin-2'].map((name) => world.startReplica({ name, replicaId: TWIN })),
    );
    if (one === undefined || two === undefined) return;
    world.expect(one.holder !== two.holder, `both are called ${one.holder} in the tables`);
    await leavesAlone(world, { one, two, watcher });
    await doesNotRenew(world, { one, watcher });
  },
};

/** One of the twins drains and ends: the turns of the other go on to their end. */
async function leavesAlone(
  world: World,
  { one, two, watcher }: { readonly one: Replica; readonly two: Replica; readonly watcher: Replica },
): Promise<void> {
  const [kept, ended] = await Promise.all([
    start(world, { script: SHORT, holder: one, watcher }),
    start(world, { script: 'tick 10 50; done', holder: two, watcher }),
  ]);
  two.terminate();
  await two.exited;
  await world.settled({ withinMs: 2 * world.settings.ttlMs + 6_000 });
  const outcome = await outcomeOf(world, [...kept, ...ended]);
  world.expect(
    outcome.completed === kept.length + ended.length,
    `${outcome.failed} turns failed because their holder's twin ended`,
  );
  world.figure('turns beside a twin', outcome.completed);
}

/** The other is killed and comes back under its name at once: its turns are swept in time, not adopted. */
async function doesNotRenew(
  world: World,
  { one, watcher }: { readonly one: Replica; readonly watcher: Replica },
): Promise<void> {
  const before = one.holder;
  const load = await start(world, { script: 'tick 2000 50', holder: one, watcher });
  await one.kill();
  const again = await world.startReplica({ name: 'twin-again', replicaId: TWIN });
  world.expect(again.holder !== before, 'a restarted replica is called as before in the tables');
  const busy = await start(world, { script: 'tick 40 100; done', holder: again, watcher });
  await world.settled({ withinMs: world.settings.ttlMs + 6_000 });
  const { failed } = await outcomeOf(world, load);
  world.expect(failed === load.length, `${load.length - failed} turns of the dead boot were not ended`);
  const { completed } = await outcomeOf(world, busy);
  world.expect(
    completed === busy.length,
    `${busy.length - completed} turns of the new boot were not its own`,
  );
  world.figure('turns of the dead boot swept', failed);
}

function start(
  world: World,
  {
    script,
    holder,
    watcher,
  }: { readonly script: string; readonly holder: Replica; readonly watcher: Replica },
): Promise<LoadTask[]> {
  return world.load({ tasks: world.quick ? 5 : 10, script, holders: [holder], watchers: [watcher] });
}
