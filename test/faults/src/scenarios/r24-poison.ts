import type { Scenario } from '../scenario.js';
import type { LoadTask } from '../world/load.js';
import { nowMs } from '../world/now.js';
import type { World } from '../world/world.js';
import { until } from '../tools/processes.js';

/** A way to make the rows of a task unusable. */
interface Poison {
  readonly name: string;
  /** Whether the turn can be ended all the same. */
  readonly sweepable: boolean;
  sql(taskId: string): string;
}

const POISONS: readonly Poison[] = [
  {
    name: 'an event that is no JSON',
    sweepable: true,
    sql: (id) => `UPDATE task_events SET payload = '{' WHERE task_id = '${id}' AND seq = 2`,
  },
  {
    name: 'an event of another kind than it says',
    sweepable: true,
    sql: (id) => `UPDATE task_events SET kind = 'nonsense' WHERE task_id = '${id}' AND seq = 2`,
  },
  {
    name: 'a state that does not exist',
    sweepable: true,
    sql: (id) => `UPDATE tasks SET state = 'TASK_STATE_NONSENSE' WHERE id = '${id}'`,
  },
  {
    name: 'an owner nobody can be',
    sweepable: true,
    sql: (id) => `UPDATE tasks SET owner = ' {"user":' WHERE id = '${id}'`,
  },
  {
    name: 'a log that is ahead of its task',
    sweepable: false,
    sql: (id) => `UPDATE tasks SET version = version - 1 WHERE id = '${id}'`,
  },
];

const SKIPPED = 'an expired lease cannot be swept, it is skipped for now';

/** Rows that cannot be read, and one that cannot be swept, among the leases of a replica that died. */
export const poison: Scenario = {
  id: 'R24',
  title: 'rows that cannot be read or swept among those of a dead replica',
  databases: ['postgresql', 'mysql', 'sqlite'],
  quick: true,
  async run(world) {
    const [victim, ...others] = await world.startReplicas(3);
    if (victim === undefined) return;
    const load = await world.load({
      tasks: world.quick ? 10 : 20,
      script: 'tick 400 50',
      holders: [victim],
      watchers: others,
    });
    await victim.kill();
    const killedAtMs = nowMs();
    const poisoned = await poisonSome(world, load);
    await othersEnd(world, { load, poisoned, killedAtMs });
    await expectReports(world, poisoned);
    await expectAnswers(world, { load, poisoned });
    await repair(world, poisoned);
  },
};

type Poisoned = ReadonlyMap<string, Poison>;

async function poisonSome(world: World, load: readonly LoadTask[]): Promise<Poisoned> {
  // On a machine that is too busy some have been lost before: nobody would sweep those any more.
  const leased = await leasedIds(world);
  const running = load.filter(({ taskId }) => leased.has(taskId));
  world.expect(running.length >= POISONS.length, `only ${running.length} turns were running`);
  const victims = world.random.shuffle(running).slice(0, POISONS.length);
  const poisoned = new Map<string, Poison>();
  for (const [index, { taskId }] of victims.entries()) {
    const one = POISONS[index];
    if (one === undefined) continue;
    world.fault('poison', `${one.name}, task ${taskId}`);
    await world.database.query(one.sql(taskId));
    poisoned.set(taskId, one);
  }
  return poisoned;
}

async function leasedIds(world: World): Promise<ReadonlySet<string>> {
  const rows = await world.database.query('SELECT task_id FROM task_leases');
  return new Set(rows.map((row) => String(row['task_id'])));
}

interface Among {
  readonly load: readonly LoadTask[];
  readonly poisoned: Poisoned;
}

/** Everything else is ended in time, and what was only made unreadable as well. */
async function othersEnd(
  world: World,
  { load, poisoned, killedAtMs }: Among & { readonly killedAtMs: number },
): Promise<void> {
  const due = load.filter(({ taskId }) => poisoned.get(taskId)?.sweepable !== false);
  const open = async (): Promise<readonly string[]> => {
    const leased = await leasedIds(world);
    return due.flatMap(({ taskId }) => (leased.has(taskId) ? [taskId] : []));
  };
  const withinMs = killedAtMs + world.settings.ttlMs + 1_000 - nowMs();
  await until(async () => (await open()).length === 0, { what: 'swept', withinMs }).catch(() => {});
  for (const taskId of await open())
    world.expect(false, `it was not ended in time beside poisoned rows`, taskId);
  world.figure('others ended after ms', nowMs() - killedAtMs);
}

/** The one that cannot be swept is told at the first, second, fourth .. attempt, and only it. */
async function expectReports(world: World, poisoned: Poisoned): Promise<void> {
  const stuck = [...poisoned].find(([, { sweepable }]) => !sweepable)?.[0];
  const sweepers = world.replicas.filter(({ alive }) => alive);
  // Every sweeper meets it twice: after the expiry and after the first pause.
  for (const sweeper of sweepers)
    await sweeper.log(
      ({ msg, taskId, fields }) => msg === SKIPPED && taskId === stuck && fields['attempts'] === 2,
    );
  for (const sweeper of sweepers) {
    const lines = sweeper.logs.filter(({ msg }) => msg === SKIPPED);
    world.expect(
      lines.every(({ taskId }) => taskId === stuck),
      `${sweeper.name} blames a row that can be swept`,
    );
    const attempts = lines.map(({ fields }) => Number(fields['attempts']));
    world.expect(
      new Set(attempts).size === attempts.length,
      `${sweeper.name} reports the same attempt twice: ${attempts.join(', ')}`,
      stuck,
    );
  }
}

/** Whoever asks for such a task is answered, with a task or an error; the others are answered as ever. */
async function expectAnswers(world: World, { load, poisoned }: Among): Promise<void> {
  const [replica] = world.replicas.filter(({ alive }) => alive);
  if (replica === undefined) return;
  for (const { taskId } of load) {
    const { task, error, broken } = await replica.as().get(taskId);
    world.expect(broken === undefined, `nobody answered for it: ${broken}`, taskId);
    if (!poisoned.has(taskId))
      world.expect(task?.status.state === 'TASK_STATE_FAILED', `it is answered ${error?.message}`, taskId);
  }
  const list = await replica.as().call({ method: 'ListTasks', params: {} });
  world.expect(
    list.broken === undefined && list.error === undefined,
    `a list is answered ${list.error?.message}`,
  );
}

/** Once the row is mended its turn is ended like any other. */
async function repair(world: World, poisoned: Poisoned): Promise<void> {
  // What its owner was shown before was hers.
  for (const taskId of poisoned.keys())
    await world.database.query(`UPDATE tasks SET owner = 'alice' WHERE id = '${taskId}'`);
  const stuck = [...poisoned].find(([, { sweepable }]) => !sweepable)?.[0];
  if (stuck === undefined) return;
  await world.database.query(`UPDATE tasks SET version = version + 1 WHERE id = '${stuck}'`);
  const repairedAtMs = nowMs();
  const gone = async (): Promise<boolean> =>
    (await world.database.number(`SELECT COUNT(*) FROM task_leases WHERE task_id = '${stuck}'`)) === 0;
  // The pause of a row that failed twice is two seconds, three times four.
  await until(gone, { what: 'the mended row is swept', withinMs: 8_000 });
  world.figure('mended row swept after ms', nowMs() - repairedAtMs);
}
