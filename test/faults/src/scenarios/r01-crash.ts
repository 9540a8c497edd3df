import type { Scenario } from '../scenario.js';
import type { World } from '../world/world.js';

/** `kill -9` for the holder while its tasks stream to subscribers elsewhere. */
export const crash: Scenario = {
  id: 'R1',
  title: 'a replica is killed while it streams',
  databases: ['postgresql', 'mysql', 'sqlite'],
  quick: true,
  async run(world) {
    const [victim, ...others] = await world.startReplicas(3);
    if (victim === undefined) return;
    const load = await world.load({
      tasks: tasksOf(world),
      script: 'tick 400 50',
      holders: [victim],
      watchers: others,
    });
    world.say(`${load.length} tasks run on ${victim.name}; it is killed`);
    await victim.kill();
    const { ttlMs } = world.settings;
    await world.settled({ withinMs: ttlMs + 1_000 });
    const ends = await Promise.all(load.map((task) => task.ended));
    world.expect(
      ends.every((end) => end.how === 'complete'),
      'a subscription did not end with its task',
    );
  },
};

function tasksOf(world: World): number {
  if (world.quick) return 10;
  return world.provider === 'postgresql' ? 100 : 20;
}
