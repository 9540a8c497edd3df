import { openRaw } from '@a2a-cluster/testing';
import type { Scenario } from '../scenario.js';
import type { Answer } from '../world/client.js';
import { nowMs, pause } from '../world/now.js';
import type { Replica } from '../world/replica.js';
import type { World } from '../world/world.js';
import { largest, percentile } from './support/numbers.js';
import { expectAllTicks } from './support/outcome.js';

const POOLS = [1, 2, 10];
const TASKS = 12;
const TICKS = 120;
const TICK_MS = 100;
const CLIENTS = 12;
/** Of a replica, beside its pool: two for leases, one that wakes streams, one that listens. */
const OWN_CONNECTIONS = 4;

/**
 * Replicas with one, two and ten connections under more requests than that, and a locked task that keeps a connection
 * busy for most of a TTL. SQLite has one connection per process and no pool.
 */
export const poolExhaustion: Scenario = {
  id: 'R26',
  title: 'requests outnumber the connections',
  databases: ['postgresql', 'mysql'],
  async run(world) {
    const replicas = await Promise.all(
      POOLS.map((size) =>
        world.startReplica({ name: `pool${size}`, env: { DATABASE_POOL_SIZE: `${size}` } }),
      ),
    );
    const load = await world.load({ tasks: TASKS, script: `tick ${TICKS} ${TICK_MS}`, holders: replicas });
    const until = nowMs() + TICKS * TICK_MS;
    const connections = mostConnections(world, until);
    const locked = lockOneTask(world, load.find(({ holder }) => holder === replicas[0])?.taskId ?? '');
    const clients = replicas.map((replica) =>
      Promise.all(Array.from({ length: CLIENTS }, () => ask(replica, { taskIds: load.map(idOf), until }))),
    );
    for (const [index, calls] of (await Promise.all(clients)).entries())
      judge(world, replicas[index]?.name ?? '', calls.flat());
    await locked;
    world.figure('connections max', await connections);
    const most = POOLS.reduce((sum, size) => sum + Math.max(2, size) + OWN_CONNECTIONS, 0);
    world.expect((await connections) <= most, `${await connections} connections were open, not ${most}`);
    await world.settled({ withinMs: TICKS * TICK_MS + 10_000 });
    await Promise.all(load.map((task) => task.ended));
    await expectAllTicks(world, load, TICKS);
    await expectQuick(world, replicas);
  },
};

const idOf = ({ taskId }: { readonly taskId: string }): string => taskId;

interface Call {
  readonly ms: number;
  readonly answer: Answer;
}

/** One client that never rests: reads, and short turns. */
async function ask(
  replica: Replica,
  { taskIds, until }: { readonly taskIds: readonly string[]; readonly until: number },
): Promise<Call[]> {
  const calls: Call[] = [];
  for (let round = 0; nowMs() < until; round += 1) {
    const beganAtMs = nowMs();
    const taskId = taskIds[round % taskIds.length] ?? '';
    const short = round % 10 === 0;
    const answer = await (short ? replica.as().send({ text: 'tick 1 1' }) : replica.as().get(taskId));
    calls.push({ ms: nowMs() - beganAtMs, answer });
    await pause(50);
  }
  return calls;
}

/** Every call was answered, or refused in a way a client can act on. */
function judge(world: World, name: string, calls: readonly Call[]): void {
  const times = calls.map(({ ms }) => ms);
  const refused = calls.flatMap(({ answer }) => answer.error ?? []);
  const unclear = refused.filter((error) => error.reason === undefined);
  const broken = calls.filter(({ answer }) => answer.broken !== undefined).length;
  world.figure(`${name}: calls`, calls.length);
  world.figure(`${name}: refused`, refused.length);
  world.figure(`${name}: ms p50`, percentile(times, 0.5));
  world.figure(`${name}: ms max`, largest(times));
  world.expect(broken === 0, `${broken} calls to ${name} were not answered`);
  world.expect(unclear.length === 0, `${name} refused without a reason: ${JSON.stringify(unclear[0])}`);
}

/** Keeps a task of the replica with one connection locked for most of what a turn survives. */
async function lockOneTask(world: World, taskId: string): Promise<void> {
  const raw = await openRaw(world.database.url);
  const fault = world.fault('rows_locked', `the row of task ${taskId}`);
  await raw.run('BEGIN');
  await raw.query(`SELECT id FROM tasks WHERE id = '${taskId}' FOR UPDATE`);
  await pause(world.settings.ttlMs * 0.8);
  await raw.run('ROLLBACK');
  fault.end();
  await raw.close();
}

async function mostConnections(world: World, until: number): Promise<number> {
  const sql =
    world.provider === 'postgresql'
      ? `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'a2a-cluster%'`
      : `SELECT count(*) FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()`;
  let most = 0;
  while (nowMs() < until) {
    most = Math.max(most, await world.database.number(sql));
    await pause(200);
  }
  return most;
}

/** Nothing is stuck: each replica answers as quickly as one without load. */
async function expectQuick(world: World, replicas: readonly Replica[]): Promise<void> {
  for (const replica of replicas) {
    const beganAtMs = nowMs();
    const answer = await replica.as().send({ text: 'tick 1 1' });
    const state = answer.task?.status.state;
    const ms = Math.round(nowMs() - beganAtMs);
    world.expect(
      state === 'TASK_STATE_COMPLETED',
      `${replica.name} answers ${state ?? 'nothing'} afterwards`,
    );
    world.expect(ms < world.settings.ttlMs / 3, `${replica.name} takes ${ms} ms for a short turn afterwards`);
  }
}
