import { openRaw } from '@a2a-cluster/testing';
import type { Scenario } from '../scenario.js';
import { Failpoints } from '../tools/failpoints.js';
import type { LoadTask } from '../world/load.js';
import { pause } from '../world/now.js';
import { stateOf } from '../world/stream.js';
import type { World } from '../world/world.js';
import { expectAllTicks } from './support/outcome.js';
import { until } from './support/until.js';

const TASKS = 20;
const TICKS = 120;
const TICK_MS = 100;
const SHARE = 0.05;
const FOLLOW_UPS = 10;
const CANCELS = 10;
const REAL_DEADLOCKS = 4;

/**
 * The database rolls transactions back for passing reasons: 5 % of the statements below the retries of the product
 * are answered so, and on the servers a foreign transaction locks leases and tasks the wrong way round. SQLite has no
 * deadlocks; there it is SQLITE_BUSY at COMMIT.
 */
export const deadlocks: Scenario = {
  id: 'R27',
  title: 'transactions are rolled back by deadlocks',
  databases: ['postgresql', 'mysql', 'sqlite'],
  async run(world) {
    const replicas = await world.startReplicas(3, { failpoints: '' });
    const failpoints = replicas.map((replica) => new Failpoints(replica.channel));
    const load = await world.load({ tasks: TASKS, script: `tick ${TICKS} ${TICK_MS}`, holders: replicas });
    const fault = world.fault('statements', `${SHARE * 100} % of the statements are rolled back`);
    const actions = world.provider === 'postgresql' ? ['deadlock', 'conflict'] : ['deadlock'];
    const rules = actions.map((action) => `driver.deadlock=${action}%${SHARE / actions.length}`);
    await Promise.all(
      failpoints.map((each, index) => each.set([`seed=${world.options.seed + index}`, ...rules].join(';'))),
    );
    const errors = await Promise.all([followUps(world), cancels(world), realDeadlocks(world, load)]);
    await world.settled({ withinMs: TICKS * TICK_MS + 10_000 });
    fault.end();
    await Promise.all(failpoints.map((each) => each.set('')));
    await Promise.all(load.map((task) => task.ended));
    await expectAllTicks(world, load, TICKS);
    const injected = failpoints.reduce((sum, { triggers }) => sum + triggers.length, 0);
    world.expect(injected > 0, 'no statement was rolled back');
    world.figure('rollbacks injected', injected);
    world.figure('real deadlocks lost by us', errors[2]);
    await countDeadlocks(world);
    world.expect(
      errors[0] + errors[1] === 0,
      `${errors[0]} follow-ups and ${errors[1]} cancels were refused`,
    );
  },
};

/** Tasks that ask, and are answered at another replica; gives how many sends were refused. */
async function followUps(world: World): Promise<number> {
  const refused = await Promise.all(
    Array.from({ length: FOLLOW_UPS }, async (_, index) => {
      const [first, second] = world.random.shuffle(world.replicas);
      const asked = await first?.as().send({ text: `tick 2 20; ask ${index}` });
      if (asked?.task === undefined) return 1;
      const answered = await second?.as().send({ text: 'tick 2 20; done', taskId: asked.task.id });
      return answered?.task?.status.state === 'TASK_STATE_COMPLETED' ? 0 : 1;
    }),
  );
  return refused.reduce<number>((sum, each) => sum + each, 0);
}

/** Tasks that are cancelled at another replica; gives how many cancels were refused. */
async function cancels(world: World): Promise<number> {
  const refused = await Promise.all(
    Array.from({ length: CANCELS }, async () => {
      const [first, second] = world.random.shuffle(world.replicas);
      const stream = first?.as().stream({ text: 'tick 600 50' });
      const working = await stream?.find((event) => stateOf(event) === 'TASK_STATE_WORKING');
      const taskId = await stream?.taskId();
      if (working === undefined || taskId === undefined) return 1;
      const answer = await second?.as().cancel(taskId);
      return answer?.task?.status.state === 'TASK_STATE_CANCELED' ? 0 : 1;
    }),
  );
  return refused.reduce<number>((sum, each) => sum + each, 0);
}

/** Locks the lease first and the task second, against the order of the cluster; gives how often we were the victim. */
async function realDeadlocks(world: World, load: readonly LoadTask[]): Promise<number> {
  if (world.provider === 'sqlite') return 0;
  const raw = await openRaw(world.database.url);
  let victims = 0;
  for (let round = 0; round < REAL_DEADLOCKS; round += 1) {
    const { taskId } = world.random.pick(load);
    const fault = world.fault('rows_locked', `lease and task of ${taskId}, in the wrong order`);
    try {
      await raw.run('BEGIN');
      await raw.query(`SELECT 1 FROM task_leases WHERE task_id = '${taskId}' FOR UPDATE`);
      await pause(2 * TICK_MS);
      await raw.query(`SELECT 1 FROM tasks WHERE id = '${taskId}' FOR UPDATE`);
      await raw.run('ROLLBACK');
    } catch {
      victims += 1;
      await raw.run('ROLLBACK');
    }
    fault.end();
  }
  await raw.close();
  return victims;
}

/** That the deadlocks were real, where the server counts them by database. */
async function countDeadlocks(world: World): Promise<void> {
  if (world.provider !== 'postgresql') return;
  // The count is told with a delay.
  const sql = 'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()';
  await until(async () => (await world.database.number(sql)) > 0, { withinMs: 5_000 });
  const deadlocks = await world.database.number(sql);
  world.figure('real deadlocks', deadlocks);
  world.expect(deadlocks > 0, 'the server has met no real deadlock');
}
