import type { Scenario } from '../scenario.js';
import type { LoadTask } from '../world/load.js';
import { limit, pause } from '../world/now.js';
import type { Replica } from '../world/replica.js';
import type { World } from '../world/world.js';
import { detectionsMs } from './support/detection.js';
import {
  AROUND_WRITES,
  die,
  diesByItself,
  startArmed,
  WHILE_STREAMING,
  type Armed,
  type Kill,
} from './support/victims.js';

/** Replicas that die one after the other in the whole set, those of the sweep among them. */
const DEATHS = 50;
/** At the same time: their turns are swept together. */
const WAVE = 10;
/** How much later the others sweep when one is to die of it. */
const LATER_MS = 300;

/** `kill -9` while a replica streams to subscribers elsewhere, and around each write it makes. */
export const crash: Scenario = {
  id: 'R1',
  title: 'a replica is killed: while it streams, around each of its writes, in its sweep',
  databases: ['postgresql', 'mysql', 'sqlite'],
  quick: true,
  async run(world) {
    const survivors = [await startArmed(world, ''), await startArmed(world, '')];
    const replicas = survivors.map(({ replica }) => replica);
    const tasks = 2;
    for (const [number, kills] of waves(world).entries()) {
      world.say(`wave ${number + 1}: ${kills.map(({ name }) => name).join('; ')}`);
      const loads = kills.map((kill) => die(world, { kill, tasks, survivors: replicas }));
      if (number === 0 && !world.quick) loads.push(...(await dieSweeping(world, { tasks, survivors })));
      await watchedToTheEnd(world, (await Promise.all(loads)).flat());
    }
    const detections = await detectionsMs(world);
    const longest = Math.max(0, ...detections);
    const limitMs = world.settings.ttlMs + 1_000;
    world.figure('kills', world.recorder.faults.filter(({ kind }) => kind === 'kill').length);
    world.figure('turns ended for a dead replica', detections.length);
    world.figure('detection ms max', longest);
    world.expect(detections.length > 0, 'no turn of a dead replica was ended');
    world.expect(
      longest <= limitMs,
      `a dead turn went on for ${Math.round(longest)} ms, more than ${limitMs}`,
    );
  },
};

/** Who dies of what: the sweep's two and the two whose turns it was about come to the first wave. */
function waves(world: World): Kill[][] {
  const { random } = world;
  if (world.quick) {
    // A follow-up that was accepted and said nothing yet is the one that is lost most easily.
    const accepted = AROUND_WRITES.filter(({ name }) => name === 'follow-up, after');
    return [[WHILE_STREAMING, ...accepted, random.pick(AROUND_WRITES)]];
  }
  const all = [...AROUND_WRITES, ...Array<Kill>(DEATHS - AROUND_WRITES.length - 3).fill(WHILE_STREAMING)];
  const shuffled = random.shuffle(all);
  const first = [shuffled.splice(0, WAVE - 4)];
  while (shuffled.length > 0) first.push(shuffled.splice(0, WAVE));
  return first;
}

async function watchedToTheEnd(world: World, load: readonly LoadTask[]): Promise<void> {
  await world.settled({ withinMs: world.settings.ttlMs + 1_000 });
  for (const { taskId, ended } of load) {
    const end = await Promise.race([ended, limit(2_000)]);
    world.expect(
      end?.how === 'complete',
      `its subscription did not end with it: ${JSON.stringify(end)}`,
      taskId,
    );
  }
}

interface Sweep {
  readonly tasks: number;
  readonly survivors: readonly Armed[];
}

/**
 * A replica dies, and the one that would end its turns dies of that: one before the sweep's statement, or having been
 * overtaken, one after it, before anybody was told. The survivors come later, so that it is not them.
 */
async function dieSweeping(world: World, { tasks, survivors }: Sweep): Promise<Promise<LoadTask[]>[]> {
  const [victim, before, after] = await Promise.all([
    world.startReplica(),
    startArmed(world, ''),
    startArmed(world, ''),
  ]);
  const watchers: Replica[] = survivors.map(({ replica }) => replica);
  const load = await world.load({ tasks, script: 'tick 400 50', holders: [victim], watchers });
  for (const { points } of survivors) await points.set(`journal.sweep@before=delay:${LATER_MS}`);
  await after.points.set(load.map(({ taskId }) => `journal.sweep@after=kill?${taskId}`).join(';'));
  await victim.kill();
  const { ttlMs, heartbeatMs } = world.settings;
  const done = async (): Promise<LoadTask[]> => {
    // Its last heartbeat was sent at most one interval before it died.
    await pause(ttlMs - heartbeatMs);
    await before.points.set('journal.sweep@before=kill');
    await Promise.all([
      diesByItself(world, before.replica, 'sweep, before'),
      diesByItself(world, after.replica, 'sweep, after'),
    ]);
    for (const { points } of survivors) await points.set('');
    return load;
  };
  return [done()];
}
