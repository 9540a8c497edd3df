import { userMessage, type Clients } from './client.js';
import { WORLD } from './scheduler.js';
import { cutListeners } from './sim-database.js';
import { boot, close, kill, pause, resume, type SimReplica } from './sim-replica.js';
import type { World } from './world.js';

/** How often a client answers at once when it is asked for input. */
const ANSWERS_AT_ONCE = 0.5;

/** How long clients ask and faults happen, in virtual time. */
export const ACTIVE_MS = 20_000;

/** Plans all of a run: what clients do, and what goes wrong when. */
export function plan(world: World, clients: Clients): void {
  const { random, faults } = world;
  clients.onInputRequired = (taskId) => answer(world, clients, taskId);
  for (let left = random.int(5, 15); left > 0; left -= 1)
    at(world, 'a client', () => clientAct(world, clients));
  if (faults.has('pause')) times(world, 3, () => pauseSome(world));
  if (faults.has('kill')) times(world, 2, () => strike(world, (replica) => killOne(world, replica)));
  if (faults.has('step')) times(world, 2, () => stepClock(world));
  if (faults.has('outage')) times(world, 1, () => blackout(world, WORLD));
  if (faults.has('partition')) times(world, 2, () => partition(world));
  if (faults.has('close')) times(world, 1, () => closeOne(world));
  if (faults.has('hints')) times(world, 2, () => cutListeners(world, WORLD));
}

function times(world: World, most: number, act: () => void): void {
  for (let left = world.random.int(1, most); left > 0; left -= 1) at(world, 'a fault', act);
}

function at(world: World, what: string, act: () => void): void {
  world.scheduler.after(world.random.int(50, ACTIVE_MS), { owner: WORLD, what: () => what, run: act });
}

/** Everything that was planned with a later end is over: the run can settle. */
export function restore(world: World): void {
  world.faults.on = false;
  for (const replica of world.replicas) resume(world, replica);
  world.faults.blackout(WORLD, { kind: 'refused', untilMs: 0 });
  for (const { name } of world.replicas) world.faults.blackout(name, { kind: 'refused', untilMs: 0 });
}

function running(world: World): SimReplica[] {
  return world.replicas.filter(({ state }) => state === 'running');
}

function any(world: World): SimReplica | undefined {
  const replicas = running(world);
  return replicas.length === 0 ? undefined : world.random.pick(replicas);
}

/** What a client does, at a replica: it waits there while that is paused. */
function clientAct(world: World, clients: Clients): void {
  const replica = any(world);
  if (replica === undefined) return;
  const { random, watch } = world;
  const known = [...watch.tasks.keys()];
  const act =
    known.length === 0
      ? 'new'
      : random.pick(['new', 'new', 'more', 'more', 'cancel', 'subscribe', 'subscribe', 'twice']);
  const taskId = known.length === 0 || act === 'new' ? '' : random.pick(known);
  const ask = (at: SimReplica, call: () => void): void =>
    void world.scheduler.after(0, {
      owner: at.name,
      what: () => `client: ${act} at ${at.name} ${taskId}`,
      run: call,
    });
  switch (act) {
    case 'new':
    case 'more':
      return ask(replica, () =>
        sendOne(world, clients, { replica, taskId, messageId: `u${world.serial()}` }),
      );
    case 'cancel':
      return ask(replica, () => clients.cancel(replica, taskId));
    case 'subscribe':
      return ask(replica, () => clients.subscribe(replica, taskId));
    case 'twice': {
      const messageId = `u${world.serial()}`;
      clients.repeated.add(messageId);
      for (const each of [replica, any(world) ?? replica])
        ask(each, () => sendOne(world, clients, { replica: each, taskId, messageId }));
    }
  }
}

/** A task that asks for input gets it, as a rule while its turn is about to let go. */
function answer(world: World, clients: Clients, taskId: string): void {
  const replica = any(world);
  if (replica === undefined || !world.faults.on || !world.random.chance(ANSWERS_AT_ONCE)) return;
  const messageId = `u${world.serial()}`;
  world.scheduler.after(world.random.int(0, 100), {
    owner: replica.name,
    what: () => `client: answers at ${replica.name} ${taskId}`,
    run: () => sendOne(world, clients, { replica, taskId, messageId }),
  });
}

function sendOne(
  world: World,
  clients: Clients,
  send: { readonly replica: SimReplica; readonly taskId: string; readonly messageId: string },
): void {
  const message = userMessage(send.messageId, send.taskId);
  if (world.random.chance(0.5)) clients.stream(send.replica, message);
  else clients.send(send.replica, message, world.random.chance(0.2));
}

/** Statements after which a replica that stops leaves something half done. */
const TRAPS = [
  'createTask',
  'openTurn',
  'openTurn',
  'commit',
  'release',
  'sweep',
  'markCancel',
  'cancel',
  'beat',
];

/** Now, or as soon as one replica has had one of these statements executed. */
function strike(world: World, act: (replica: SimReplica) => void): void {
  if (world.random.chance(0.5)) {
    world.traps.push({ statement: world.random.pick(TRAPS), spring: act });
    return;
  }
  const replica = any(world);
  if (replica) act(replica);
}

function pauseSome(world: World): void {
  // A machine that is suspended takes all of its replicas along.
  if (world.random.chance(0.2)) for (const replica of running(world)) pauseOne(world, replica);
  else strike(world, (replica) => pauseOne(world, replica));
}

function pauseOne(world: World, replica: SimReplica): void {
  pause(world, replica);
  world.note(`${replica.name} is paused`);
  const forMs = world.random.pick([200, 5_000, 12_000, 16_000, 25_000]) + world.random.int(0, 2_000);
  world.scheduler.after(forMs, {
    owner: WORLD,
    what: () => `${replica.name} goes on`,
    run: () => resume(world, replica),
  });
}

function killOne(world: World, replica: SimReplica): void {
  kill(world, replica);
  world.note(`${replica.name} is killed`);
  world.unrest.count += 1;
  world.scheduler.after(world.random.int(1, 10_000), {
    owner: WORLD,
    what: () => 'another replica boots',
    run: () => {
      world.unrest.count -= 1;
      boot(world);
    },
  });
}

function closeOne(world: World): void {
  const replica = any(world);
  if (replica === undefined || world.scheduler.isHeld(replica.name)) return;
  boot(world);
  world.note(`${replica.name} closes`);
  close(world, replica);
}

function stepClock(world: World): void {
  const { random, databaseClock } = world;
  const ms = random.pick([-3_600_000, -20_000, -2_000, -500, 500, 2_000, 20_000, 3_600_000]);
  databaseClock.step(ms);
  world.note(`the database's clock steps by ${ms} ms`);
}

function blackout(world: World, owner: string): void {
  const { random, faults, scheduler } = world;
  const forMs = random.pick([500, 3_000, 8_000, 16_000]) + random.int(0, 2_000);
  const kind = random.pick(['refused', 'silent'] as const);
  faults.blackout(owner, { kind, untilMs: scheduler.nowMs + forMs });
  world.note(
    `${owner || 'nobody'} ${owner ? 'cannot reach' : 'reaches'} the database for ${forMs} ms (${kind})`,
  );
  if (kind === 'refused' || random.chance(0.5)) cutListeners(world, owner);
}

function partition(world: World): void {
  const replica = any(world);
  if (replica) blackout(world, replica.name);
}
