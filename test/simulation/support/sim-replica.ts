import type { AgentCard } from '@a2a-js/sdk';
import type { Clock, Logger } from '@a2a-cluster/core';
import { createCluster, type Cluster } from '@a2a-cluster/cluster';
import { createAgent } from './agent.js';
import { createReplicaClock } from './sim-clock.js';
import { databaseOf } from './sim-database.js';
import { LEASE, type World } from './world.js';

const card: AgentCard = {
  name: 'simulated agent',
  description: '',
  version: '1',
  documentationUrl: undefined,
  iconUrl: undefined,
  provider: undefined,
  capabilities: { streaming: true, pushNotifications: false, extensions: [], extendedAgentCard: false },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
  securitySchemes: {},
  securityRequirements: [],
  signatures: [],
  supportedInterfaces: [],
};

/** A replica of the simulation: the real thing, but for the clock and the way to the database. */
export interface SimReplica {
  /** Its owner in the scheduler; the holder in the tables is `<name>-<boot>`. */
  readonly name: string;
  readonly clock: Clock;
  cluster: Cluster | null;
  state: 'starting' | 'running' | 'closing' | 'closed' | 'killed';
  /** Virtual times. */
  runningSinceMs: number;
  resumedAtMs: number;
  /** Turns it could not end are left to the others' sweepers. */
  readonly leavesTurns: boolean;
}

/** Boots a replica; it is `running` some steps later. */
export function boot(world: World): SimReplica {
  const { random, scheduler } = world;
  const name = `r${world.replicas.length + 1}`;
  const skew = {
    wallMs: random.int(-3_600_000, 3_600_000),
    rate: random.pick([1, 1, 1, 0.99, 1.01]),
    originMs: random.int(0, 1_000_000),
  };
  const replica: SimReplica = {
    name,
    clock: createReplicaClock({ scheduler, owner: name, skew }),
    cluster: null,
    state: 'starting',
    runningSinceMs: Infinity,
    resumedAtMs: -1,
    leavesTurns: random.chance(0.2),
  };
  world.replicas.push(replica);
  start(world, replica).catch((error: unknown) => {
    world.note(`${name} did not start: ${String(error)}`);
    if (replica.state !== 'starting') return;
    kill(world, replica);
    boot(world);
  });
  return replica;
}

async function start(world: World, replica: SimReplica): Promise<void> {
  replica.cluster = await createCluster({
    agentCard: card,
    executor: createAgent(world, replica),
    database: databaseOf(world, replica.name),
    clock: replica.clock,
    replicaId: replica.name,
    lease: LEASE,
    cancelGraceMs: LEASE.cancelGraceMs,
    pollIntervalMs: world.pollIntervalMs,
    failRunningTurnsOnClose: !replica.leavesTurns,
    logger: loggerOf(world, replica.name),
  });
  if (replica.state !== 'starting') return;
  await replica.cluster.start();
  if (replica.state !== 'starting') return;
  replica.state = 'running';
  replica.runningSinceMs = world.scheduler.nowMs;
}

function loggerOf(world: World, name: string): Logger {
  const log =
    (level: string) =>
    (fields: Readonly<Record<string, unknown>>, message: string): void =>
      world.note(`${name} ${level}: ${message} ${world.show(fields)}`);
  return { debug: () => {}, info: log('info'), warn: log('warn'), error: log('error') };
}

/** SIGKILL: nothing of it runs any more; what it has sent is on its way all the same. */
export function kill(world: World, replica: SimReplica): void {
  replica.state = 'killed';
  world.scheduler.kill(replica.name);
  for (const listener of world.listeners)
    if (listener.owner === replica.name) world.listeners.delete(listener);
}

/** SIGSTOP. */
export function pause(world: World, replica: SimReplica): void {
  world.scheduler.hold(replica.name);
}

/** SIGCONT. */
export function resume(world: World, replica: SimReplica): void {
  if (!world.scheduler.isHeld(replica.name)) return;
  replica.resumedAtMs = world.scheduler.nowMs;
  world.scheduler.resume(replica.name);
}

/** SIGTERM. */
export function close(world: World, replica: SimReplica): void {
  const { cluster } = replica;
  if (replica.state !== 'running' || cluster === null) return;
  replica.state = 'closing';
  cluster.close({ drainTimeoutMs: world.random.int(1, 8_000) }).then(
    () => {
      replica.state = 'closed';
      checkClosed(world, replica);
    },
    (error: unknown) => world.violated(`close of ${replica.name} failed: ${String(error)}`),
  );
}

function checkClosed(world: World, { name, cluster }: SimReplica): void {
  const status = cluster?.status();
  if (status && status.stream.tails > 0)
    world.violated(`I12 ${name} is closed and has ${status.stream.tails} tails`);
  if (status && status.heldLeases > 0) world.violated(`I12 ${name} is closed and holds leases`);
}
