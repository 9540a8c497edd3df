import type { Scenario } from '../scenario.js';
import { until } from '../tools/processes.js';
import { nowMs } from '../world/now.js';
import type { Replica } from '../world/replica.js';
import type { World } from '../world/world.js';
import { seedAbandoned, type Seeded } from './support/abandoned.js';

/** One sweeper may have to send all of them, one webhook after the other. */
const PUSHED_WITHIN_MS = 20_000;

/** Many sweepers wake for the same thousand leases in the same millisecond. */
export const sweepers: Scenario = {
  id: 'R10',
  title: 'ten sweepers want the same thousand expired leases',
  databases: ['postgresql', 'mysql', 'sqlite'],
  quick: true,
  async run(world) {
    const { ttlMs } = world.settings;
    const replicas = await world.startReplicas(world.quick ? 4 : 10);
    const seeded = await seedAbandoned(world, {
      tasks: world.quick ? 200 : 1_000,
      // Their holder's last heartbeat was half a TTL ago, which leaves time for so many (I6).
      expireInMs: ttlMs / 2,
      push: true,
    });
    world.say(`${seeded.taskIds.length} leases expire at once, before ${replicas.length} sweepers`);
    await world.settled({ withinMs: seeded.expireAtMs - nowMs() + ttlMs / 2 + 1_000 });
    const all = seeded.taskIds.length;
    const delivered = (): boolean => world.recorder.pushes.length >= all;
    await until(delivered, { what: `${all} deliveries`, withinMs: PUSHED_WITHIN_MS }).catch(() => {});
    // What a replica that drains has not sent by its end it never sends.
    for (const replica of replicas) replica.terminate();
    await Promise.all(replicas.map((replica) => replica.exited));
    expectEach(world, { replicas, seeded });
  },
};

interface Swept {
  readonly replicas: readonly Replica[];
  readonly seeded: Seeded;
}

function expectEach(world: World, { replicas, seeded }: Swept): void {
  const lines = replicas.flatMap(({ logs }) =>
    logs.filter(({ msg }) => msg === 'ended the turn of a replica that was lost'),
  );
  const claims = counted(lines.map(({ taskId }) => taskId ?? ''));
  const deliveries = counted(world.recorder.pushes.map(({ hook }) => hook));
  seeded.taskIds.forEach((taskId, index) => {
    const claimed = claims.get(taskId) ?? 0;
    world.expect(claimed === 1, `${claimed} sweepers say that they ended the turn`, taskId);
    const delivered = deliveries.get(seeded.hooks[index] ?? '') ?? 0;
    world.expect(delivered === 1, `its webhook got ${delivered} deliveries, not one`, taskId);
  });
  world.figure('claimed', lines.length);
  world.figure('deliveries', world.recorder.pushes.length);
  const winners = replicas.filter(({ name }) => lines.some(({ replica }) => replica === name));
  world.figure('sweepers that got any', winners.length);
  world.figure(
    'last FAILED told after expiry ms',
    Math.max(...lines.map(({ atMs }) => atMs)) - seeded.expireAtMs,
  );
}

function counted(keys: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}
