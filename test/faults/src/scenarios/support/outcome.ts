import type { LoadTask } from '../../world/load.js';
import type { World } from '../../world/world.js';

/** What became of the tasks of a load. */
export interface Outcome {
  readonly completed: number;
  readonly failed: number;
  /** Tasks that are neither. */
  readonly other: number;
}

/** Reads how the tasks of a load stand now. */
export async function outcomeOf(world: World, load: readonly LoadTask[]): Promise<Outcome> {
  const states = await statesOf(world);
  const all = load.map(({ taskId }) => states.get(taskId));
  const completed = all.filter((state) => state === 'TASK_STATE_COMPLETED').length;
  const failed = all.filter((state) => state === 'TASK_STATE_FAILED').length;
  return { completed, failed, other: all.length - completed - failed };
}

/** Nothing was lost: every task is COMPLETED, and each of its ticks is in the log, once. */
export async function expectAllTicks(world: World, load: readonly LoadTask[], ticks: number): Promise<void> {
  const states = await statesOf(world);
  const rows = await world.database.query(
    `SELECT task_id, COUNT(*) AS ticks FROM task_events WHERE payload LIKE '%"tick %/${ticks}"%' GROUP BY task_id`,
  );
  const stored = new Map(rows.map((row) => [String(row['task_id']), Number(row['ticks'])]));
  for (const { taskId } of load) {
    const state = states.get(taskId) ?? 'not there';
    world.expect(state === 'TASK_STATE_COMPLETED', `a turn that should have survived is ${state}`, taskId);
    const found = stored.get(taskId) ?? 0;
    const lost = state === 'TASK_STATE_COMPLETED' && found !== ticks;
    world.expect(!lost, `${found} of its ${ticks} ticks are in the log`, taskId);
  }
}

async function statesOf(world: World): Promise<Map<string, string>> {
  const rows = await world.database.query('SELECT id, state FROM tasks');
  return new Map(rows.map((row) => [String(row['id']), String(row['state'])]));
}
