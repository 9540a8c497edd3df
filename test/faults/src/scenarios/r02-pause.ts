import type { Scenario } from '../scenario.js';
import { nowMs, pause } from '../world/now.js';
import type { LoadTask } from '../world/load.js';
import type { Replica } from '../world/replica.js';
import type { World } from '../world/world.js';

/** Every second agent goes on talking when its signal fires, for longer than the scenario looks on. */
const SCRIPTS = ['tick 2000 50', 'zombie 40 25; tick 2000 50'];

/** The holder is stopped for three TTLs and wakes as a zombie. */
export const longPause: Scenario = {
  id: 'R2',
  title: 'a replica stands still for longer than its leases live',
  databases: ['postgresql', 'mysql', 'sqlite'],
  quick: true,
  async run(world) {
    const [victim, ...others] = await world.startReplicas(3);
    if (victim === undefined) return;
    const load = await world.load({
      tasks: tasksOf(world),
      script: (index) => SCRIPTS[index % SCRIPTS.length] ?? '',
      holders: [victim],
      watchers: others,
    });
    world.say(`${load.length} tasks run on ${victim.name}; it is stopped`);
    const { ttlMs } = world.settings;
    const stoppedAtMs = nowMs();
    victim.stop();
    // On SQLite it may stand still inside a write, and then nobody can write before it goes on.
    if (world.provider !== 'sqlite') {
      await world.settled({ withinMs: ttlMs + 1_000 });
      world.figure('swept after ms', nowMs() - stoppedAtMs);
    }
    await pause(3 * ttlMs - (nowMs() - stoppedAtMs));
    const before = await rowsOf(world, load);
    victim.cont();
    const wokenAtMs = nowMs();
    await agentsReturn(victim, load);
    await world.settled({ withinMs: ttlMs + 1_000 });
    await expectFenced(world, { victim, load, before });
    expectSignals(world, { victim, load, wokenAtMs });
    await expectAliveAgain(world, victim);
  },
};

function tasksOf(world: World): number {
  if (world.quick) return 10;
  return world.provider === 'postgresql' ? 100 : 20;
}

async function rowsOf(world: World, load: readonly LoadTask[]): Promise<ReadonlyMap<string, number>> {
  const ids = load.map(({ taskId }) => `'${taskId}'`).join();
  const rows = await world.database.query(
    `SELECT task_id, COUNT(*) AS rows_of FROM task_events WHERE task_id IN (${ids}) GROUP BY task_id`,
  );
  return new Map(rows.map((row) => [String(row['task_id']), Number(row['rows_of'])]));
}

/** Zombies have said everything they had to say. */
async function agentsReturn(victim: Replica, load: readonly LoadTask[]): Promise<void> {
  for (const { taskId } of load)
    await victim.log((line) => line.taskId === taskId && line.msg === 'agent turn returned');
}

interface Woken {
  readonly victim: Replica;
  readonly load: readonly LoadTask[];
}

async function expectFenced(
  world: World,
  { victim, load, before }: Woken & { readonly before: ReadonlyMap<string, number> },
): Promise<void> {
  // There a write in which it stood still may land when it goes on, and the sweep comes after it.
  if (world.provider === 'sqlite') return;
  const after = await rowsOf(world, load);
  const grown = load.filter(({ taskId }) => after.get(taskId) !== before.get(taskId));
  for (const { taskId } of grown) world.expect(false, `rows were written after ${victim.name} woke`, taskId);
  world.figure('rows of zombies', grown.length);
}

/** The checker judges when signals fire; here is told how soon. */
function expectSignals(
  world: World,
  { victim, load, wokenAtMs }: Woken & { readonly wokenAtMs: number },
): void {
  const fired = load.map(({ taskId }) => ({
    taskId,
    line: victim.logs.find((line) => line.taskId === taskId && line.msg === 'agent signal fired'),
  }));
  for (const { taskId } of fired.filter(({ line }) => line === undefined))
    world.expect(false, `the signal of the lost turn never fired on ${victim.name}`, taskId);
  const delays = fired.flatMap(({ line }) => (line ? [line.atMs - wokenAtMs] : []));
  world.figure('signal after waking ms max', Math.max(...delays));
}

/** What it held is lost, but the replica is as good as new. */
async function expectAliveAgain(world: World, victim: Replica): Promise<void> {
  const { task, error, broken } = await victim.as().send({ text: 'tick 3 20; done' });
  world.expect(
    task?.status.state === 'TASK_STATE_COMPLETED',
    `a new task on ${victim.name} ended ${task?.status.state ?? error?.message ?? broken}`,
  );
}
