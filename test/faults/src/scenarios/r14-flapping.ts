import { randomUUID } from 'node:crypto';
import type { Scenario } from '../scenario.js';
import { pause } from '../world/now.js';
import type { Replica } from '../world/replica.js';
import { stateOf, type Stream } from '../world/stream.js';
import type { World } from '../world/world.js';

/** Turns that park, some of them holding on for a moment, so that the same task goes through many epochs. */
const SCRIPTS = ['tick 10 50; ask Next?', 'tick 10 50; ask Next?; linger 800', 'tick 4 300; ask Next?'];

/** How long a replica runs between two pauses: until somebody was served by it, and so much more. */
const BREATH_MS = 500;

/**
 * Replicas stand still for about as long as a lease lives, again and again, while conversations wander between them.
 * Not on SQLite: one that stands still inside a write stops everybody.
 */
export const flapping: Scenario = {
  id: 'R14',
  title: 'replicas that stand still for 0.9 to 1.1 TTL, again and again',
  databases: ['postgresql', 'mysql'],
  async run(world) {
    const replicas = await world.startReplicas(world.quick ? 4 : 10);
    const over = new AbortController();
    const talks = Promise.all(replicas.map(() => converse(world, replicas, over.signal)));
    const cycles = world.quick ? 3 : 20;
    // They do not all stand still at once.
    await Promise.all(
      replicas.map(async (replica, index) => {
        await pause((index * world.settings.ttlMs) / replicas.length);
        await flap(world, replica, cycles);
      }),
    );
    over.abort();
    const turns = (await talks).flat();
    await world.settled({ withinMs: 3 * world.settings.ttlMs });
    await expectSweptAfterExpiry(world);
    const survived = turns.filter((state) => state === 'TASK_STATE_INPUT_REQUIRED').length;
    world.figure('pauses', cycles * replicas.length);
    world.figure('turns', turns.length);
    world.figure('turns that parked', survived);
    world.expect(survived > 0, 'no turn came to its end: nothing but losses');
  },
};

async function flap(world: World, replica: Replica, cycles: number): Promise<void> {
  const { ttlMs } = world.settings;
  for (let cycle = 0; cycle < cycles; cycle += 1) {
    replica.stop();
    await pause(ttlMs * (0.9 + 0.2 * world.random.next()));
    replica.cont();
    await replica.health();
    await pause(BREATH_MS + world.random.int(0, BREATH_MS));
  }
}

/** A client that goes on with its task, each time at another replica, and begins a new one when it has ended. */
async function converse(world: World, replicas: readonly Replica[], over: AbortSignal): Promise<string[]> {
  const ends: string[] = [];
  let taskId: string | null = null;
  while (!over.aborted) {
    const replica = world.random.pick(replicas);
    const stream: Stream = replica.as().stream({
      text: world.random.pick(SCRIPTS),
      messageId: randomUUID(),
      ...(taskId === null ? {} : { taskId }),
    });
    const end = await stream.ended;
    const state = stateOf(stream.record.frames.at(-1)?.event ?? {});
    if (state !== undefined) ends.push(state);
    // A task that is busy is asked again; one that has ended is left.
    const isBusy = end.error?.reason === 'TASK_BUSY';
    if (state === 'TASK_STATE_INPUT_REQUIRED') taskId = stream.record.taskId;
    else if (!isBusy) taskId = null;
    if (state === undefined) await pause(BREATH_MS);
  }
  return ends;
}

/** A lease that was renewed between the search for it and its lock is not swept. */
async function expectSweptAfterExpiry(world: World): Promise<void> {
  const aheadMs = await world.database.aheadMs();
  const { events } = await world.database.read(aheadMs);
  let swept = 0;
  for (const { taskId, seq, payload, createdAtMs } of events) {
    const [, expiredAt] = /"reason":"replica_lost","expiredAt":"([^"]+)"/.exec(payload) ?? [];
    if (expiredAt === undefined) continue;
    swept += 1;
    const earlyMs = Date.parse(expiredAt) - aheadMs - createdAtMs;
    world.expect(
      earlyMs <= 0,
      `seq ${seq}: swept ${Math.round(earlyMs)} ms before the lease expired`,
      taskId,
    );
  }
  world.figure('turns swept', swept);
  const highest = await world.database.number('SELECT MAX(epoch) FROM task_events');
  world.figure('highest epoch', highest);
}
