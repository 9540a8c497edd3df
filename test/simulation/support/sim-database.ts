import { ClusterError } from '@a2a-cluster/core';
import type { Database, HintListener, HintSource } from '@a2a-cluster/db';
import { STATEMENT_LIMIT_MS, type Fate } from './faults.js';
import { WORLD, type Owner } from './scheduler.js';
import type { World } from './world.js';

/** One call on its way to the database. */
interface Call {
  readonly owner: Owner;
  readonly name: string;
  readonly args: readonly unknown[];
  readonly sentAtMs: number;
  execute(): Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/**
 * The database as one replica reaches it: every statement is a request in flight, then executed, then an answer in
 * flight, and each of the three is a step of the scheduler. What was sent goes on when its replica is paused or dead.
 */
export function databaseOf(world: World, owner: Owner): Database {
  const { database } = world;
  const wrap = <T extends object>(part: T): T => {
    const wrapped: Record<string, unknown> = {};
    for (const [name, member] of Object.entries(part))
      wrapped[name] = (...args: unknown[]) =>
        send(world, owner, {
          name,
          args,
          execute: () => (member as (...args: unknown[]) => Promise<unknown>)(...args),
        });
    return wrapped as T;
  };
  const { check, ping } = wrap({ check: database.check, ping: database.ping });
  return {
    provider: 'memory',
    journal: wrap(database.journal),
    leases: wrap(database.leases),
    log: wrap({
      ...database.log,
      // The ids are random: the order of the answer must not be.
      readEventsOf: async (pages) => world.watch.inOrder(await database.log.readEventsOf(pages)),
    }),
    tasks: wrap(database.tasks),
    pushConfigs: wrap(database.pushConfigs),
    pushQueue: wrap(database.pushQueue),
    replicas: wrap(database.replicas),
    operators: wrap(database.operators),
    retention: wrap(database.retention),
    hints: world.listens ? hintsOf(world, owner) : { kind: 'none' },
    check,
    ping,
    close: async () => {},
  };
}

function send(world: World, owner: Owner, call: Pick<Call, 'name' | 'args' | 'execute'>): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const fate = world.faults.fate(owner, call.name);
    const sentAtMs = world.scheduler.nowMs;
    const sent: Call = { ...call, owner, sentAtMs, resolve, reject };
    if (fate.kind !== 'well') disturb(world, Math.max(fate.thereMs, fate.backMs) + STATEMENT_LIMIT_MS);
    request(world, sent, fate);
  });
}

/** Nothing is at rest for that long: what went wrong with a statement has its effect later. */
function disturb(world: World, forMs: number): void {
  world.unrest.count += 1;
  const run = (): void => void (world.unrest.count -= 1);
  world.scheduler.after(forMs, { owner: WORLD, what: () => 'a faulty statement is over', run });
}

/** The request is in flight. */
function request(world: World, call: Call, fate: Fate): void {
  const { name } = call;
  if (fate.kind === 'late') reply(world, call, { delayMs: fate.backMs, error: unknown(name) });
  world.scheduler.after(fate.thereMs, {
    owner: WORLD,
    what: () =>
      `${call.owner} ${name} ${fate.kind === 'well' ? 'executes' : fate.kind} ${world.show(call.args)}`,
    run: () => arrive(world, call, fate),
  });
}

async function arrive(world: World, call: Call, fate: Fate): Promise<void> {
  const { scheduler, faults } = world;
  const { name, owner, sentAtMs } = call;
  const blackout = faults.blackoutOf(owner, scheduler.nowMs);
  if (blackout?.kind === 'refused') {
    if (fate.kind !== 'late') reply(world, call, { delayMs: fate.backMs, error: unreachable(name) });
    return;
  }
  if (blackout && fate.kind !== 'late') {
    disturb(world, STATEMENT_LIMIT_MS);
    const limitMs = sentAtMs + STATEMENT_LIMIT_MS;
    if (blackout.untilMs < limitMs)
      return request(world, call, { ...fate, thereMs: blackout.untilMs - scheduler.nowMs + fate.thereMs });
    return reply(world, call, { delayMs: limitMs - scheduler.nowMs, error: unknown(name) });
  }
  if (fate.kind === 'refused') {
    const error = new ClusterError('STORE_FAULT', `${name} was refused`);
    return reply(world, call, { delayMs: fate.backMs, error });
  }
  const lost = { delayMs: fate.backMs, error: unknown(name) };
  if (fate.kind === 'request_lost' || blackout)
    return fate.kind === 'late' ? undefined : reply(world, call, lost);
  const answer = await execute(world, call);
  if (fate.kind === 'answer_lost') reply(world, call, lost);
  else if (fate.kind === 'well') reply(world, call, { delayMs: fate.backMs, ...answer });
}

async function execute(
  world: World,
  call: Call,
): Promise<{ readonly value: unknown } | { readonly error: unknown }> {
  try {
    const value = await call.execute();
    await world.watch.executed({ owner: call.owner, name: call.name, args: call.args, value });
    spring(world, call);
    return { value };
  } catch (error) {
    return { error };
  }
}

/** A fault that waited for this very statement. */
function spring({ traps, replicas, faults }: World, { name, owner }: Call): void {
  const at = traps.findIndex(({ statement }) => statement === name);
  const replica = replicas.find((each) => each.name === owner);
  if (at < 0 || !faults.on || replica?.state !== 'running') return;
  traps.splice(at, 1)[0]?.spring(replica);
}

/** The answer is in flight; a connection that breaks meanwhile takes it along. */
function reply(
  world: World,
  call: Call,
  answer: { readonly delayMs: number } & ({ readonly value: unknown } | { readonly error: unknown }),
): void {
  const { scheduler, faults } = world;
  const { owner, name } = call;
  scheduler.after(answer.delayMs, {
    owner,
    what: () =>
      `${owner} ${name} answered ${'error' in answer ? String(answer.error) : world.show(answer.value)}`,
    run: () => {
      if ('error' in answer) return call.reject(answer.error);
      if (faults.blackoutOf(owner, scheduler.nowMs)?.kind === 'refused') return call.reject(unknown(name));
      call.resolve(answer.value);
    },
  });
}

function unknown(name: string): ClusterError {
  return new ClusterError('UNKNOWN_OUTCOME', `${name} was not answered`);
}

function unreachable(name: string): ClusterError {
  return new ClusterError('DATABASE_UNREACHABLE', `${name} did not reach the database`);
}

/** LISTEN and NOTIFY: hints that may be lost, doubled and overtake each other. */
function hintsOf(world: World, owner: Owner): HintSource {
  return {
    kind: 'listen',
    notify: async (taskIds) => {
      await send(world, owner, {
        name: 'notify',
        args: [taskIds],
        execute: async () => tell(world, taskIds),
      });
    },
    listen: async (handlers) => {
      const listener = { owner, ...handlers };
      const execute = async (): Promise<HintListener> => {
        world.listeners.add(listener);
        return {
          close: async () => {
            world.listeners.delete(listener);
          },
        };
      };
      return (await send(world, owner, { name: 'listen', args: [], execute })) as HintListener;
    },
  };
}

function tell(world: World, taskIds: readonly string[]): void {
  const { scheduler, faults, listeners } = world;
  for (const listener of listeners)
    for (const delayMs of faults.hints())
      scheduler.after(delayMs, {
        owner: listener.owner,
        what: () => `${listener.owner} hears of ${world.show(taskIds)}`,
        run: () => {
          if (!listeners.has(listener)) return;
          if (faults.blackoutOf(listener.owner, scheduler.nowMs) === null) listener.onHint(taskIds);
        },
      });
}

/** The listening connections of a replica (WORLD: of all) break. */
export function cutListeners(world: World, owner: Owner): void {
  for (const listener of [...world.listeners]) {
    if (owner !== WORLD && listener.owner !== owner) continue;
    world.listeners.delete(listener);
    world.scheduler.after(world.faults.latency(), {
      owner: listener.owner,
      what: () => `${listener.owner} loses its listening connection`,
      run: () => listener.onLost(new Error('the connection was cut')),
    });
  }
}
