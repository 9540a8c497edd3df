import { Failpoints } from '../../tools/failpoints.js';
import type { LoadTask } from '../../world/load.js';
import { limit, pause } from '../../world/now.js';
import type { Replica } from '../../world/replica.js';
import type { StartOptions, World } from '../../world/world.js';

/** A moment at which a replica is killed, and the work that brings it there. */
export interface Kill {
  /** Such as `save`, with the side of the statement. */
  readonly name: string;
  /** Null: SIGKILL from outside, some time while it streams. */
  readonly failpoints: string | null;
  readonly script: string;
  /** The work is a follow-up of a task that was parked elsewhere. */
  readonly followUp?: boolean;
}

const LONG = 'tick 400 50';

/** In the middle of everything. */
export const WHILE_STREAMING: Kill = { name: 'stream', failpoints: null, script: LONG };

/** Before and after each kind of write of a turn, and around a delivery. */
export const AROUND_WRITES: readonly Kill[] = [
  { name: 'acquire, before', failpoints: 'journal.createTask@before=kill', script: LONG },
  { name: 'acquire, after', failpoints: 'journal.createTask@after=kill', script: LONG },
  { name: 'follow-up, before', failpoints: 'journal.openTurn@before=kill', script: LONG, followUp: true },
  { name: 'follow-up, after', failpoints: 'journal.openTurn@after=kill', script: LONG, followUp: true },
  { name: 'save, before', failpoints: 'journal.commit@before=kill#9', script: LONG },
  { name: 'save, after', failpoints: 'journal.commit@after=kill#9', script: LONG },
  { name: 'release, before', failpoints: 'leases.release@before=kill', script: 'tick 3 50; ask Which one?' },
  { name: 'release, after', failpoints: 'leases.release@after=kill', script: 'tick 3 50; ask Which one?' },
  { name: 'push, before', failpoints: 'push.beforePost=kill#3', script: LONG },
  { name: 'push, after', failpoints: 'push.afterPost=kill#3', script: LONG },
];

/** How long a failpoint may take to be passed. */
const PASSED_WITHIN_MS = 15_000;
/** A SIGKILL comes within this time. */
const SOON_MS = 500;

/** A replica of the test build. */
export interface Armed {
  readonly replica: Replica;
  readonly points: Failpoints;
}

/** Starts a replica of the test build; a kill by one of its failpoints is written down as a fault. */
export async function startArmed(
  world: World,
  failpoints: string,
  options: StartOptions = {},
): Promise<Armed> {
  const replica = await world.spawnReplica({ ...options, failpoints });
  const points = new Failpoints(replica.channel);
  replica.channel.on('message', (message: { readonly action?: string; readonly failpoint?: string }) => {
    if (message.action === 'kill') replica.fault('kill', `at ${message.failpoint}`);
  });
  await replica.ready();
  return { replica, points };
}

/** One replica that gets work and dies of it. */
export interface Death {
  readonly kill: Kill;
  readonly tasks: number;
  readonly survivors: readonly Replica[];
}

/** Starts it, gives it work and lets it die; resolves with what ran on it. */
export async function die(world: World, { kill, tasks, survivors }: Death): Promise<LoadTask[]> {
  const victim =
    kill.failpoints === null
      ? await world.startReplica()
      : (await startArmed(world, kill.failpoints)).replica;
  if (kill.followUp) return followUps(world, { victim, kill, tasks, survivors });
  const load = world.load({ tasks, script: kill.script, holders: [victim], watchers: survivors });
  if (kill.failpoints === null) {
    await load;
    await pause(world.random.int(0, SOON_MS));
    await victim.kill();
  } else await diesByItself(world, victim, kill.name);
  return load;
}

async function followUps(
  world: World,
  { victim, kill, tasks, survivors }: Death & { readonly victim: Replica },
): Promise<LoadTask[]> {
  const parked = await Promise.all(
    Array.from({ length: tasks }, () => world.random.pick(survivors).as().send({ text: 'ask Which one?' })),
  );
  for (const { task } of parked)
    if (task) victim.as().stream({ text: kill.script, taskId: task.id, contextId: task.contextId });
  await diesByItself(world, victim, kill.name);
  return [];
}

/** Resolves when a failpoint has killed it. */
export async function diesByItself(world: World, victim: Replica, name: string): Promise<void> {
  await Promise.race([victim.exited, limit(PASSED_WITHIN_MS)]);
  if (!victim.alive) return;
  world.expect(false, `${victim.name} did not come to the place where it should have died: ${name}`);
  await victim.kill();
}
