import type { Scenario } from '../scenario.js';
import { nowMs, pause } from '../world/now.js';
import type { World } from '../world/world.js';
import { allEnded } from './support/ended.js';
import { until } from './support/until.js';

const HOLD_S = 2;
/** Marks the tasks whose writer holds its transaction open: nobody else counts so far. */
const HELD_TICKS = 101;
const HELD_AT = `tick 20/${HELD_TICKS}`;
const AFTER_HELD = `tick 22/${HELD_TICKS}`;

/** Keeps the transaction that stored a certain event open, with the row written and not committed. */
const HOLD = {
  postgresql: [
    `CREATE FUNCTION hold_open() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN PERFORM pg_sleep(${HOLD_S}); RETURN NULL; END $$`,
    `CREATE TRIGGER hold_open AFTER INSERT ON task_events FOR EACH ROW
     WHEN (NEW.payload LIKE '%${HELD_AT}%') EXECUTE FUNCTION hold_open()`,
  ],
  mysql: [
    `CREATE TRIGGER hold_open AFTER INSERT ON task_events FOR EACH ROW
     BEGIN IF NEW.payload LIKE '%${HELD_AT}%' THEN DO SLEEP(${HOLD_S}); END IF; END`,
  ],
};

/**
 * Many write, and some hold their transaction open for two seconds: what the others stored meanwhile is seen at once,
 * and what was held is seen in its place when it comes. A reader with one cursor over all would skip it. Not on
 * SQLite, where nobody else can write meanwhile.
 */
export const openTransaction: Scenario = {
  id: 'R19',
  title: 'a writer holds its transaction open while others write',
  databases: ['postgresql', 'mysql'],
  async run(world) {
    if (world.provider === 'sqlite') return;
    for (const statement of HOLD[world.provider]) await world.database.query(statement);
    const replicas = await world.startReplicas(3);
    const tasks = world.provider === 'postgresql' ? 18 : 12;
    const fault = world.fault('rows_locked', `transactions are held open for ${HOLD_S} s`);
    const load = await world.load({
      tasks,
      // Every third one holds.
      script: (index) => `tick ${index % 3 === 0 ? HELD_TICKS : HELD_TICKS - 1} 50; done`,
      holders: replicas,
      push: false,
    });
    const held = load.filter((_, index) => index % 3 === 0);
    // Somebody comes while the row is written and not committed.
    await untilHeld(world);
    const late = held.map(({ watcher, taskId }) => watcher.as().subscribe(taskId));
    await untilLetGo(world, held.length);
    fault.end();
    await allEnded(world, { streams: [...load, ...late], turnMs: HELD_TICKS * 50 + HOLD_S * 1_000 });
    await world.settled({ withinMs: world.settings.ttlMs });
    await judge(
      world,
      held.map(({ taskId }) => taskId),
    );
  },
};

/** Resolves when a transaction sleeps in the trigger. */
async function untilHeld(world: World): Promise<void> {
  const sleeping =
    world.provider === 'postgresql'
      ? `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`
      : `SELECT count(*) FROM information_schema.processlist WHERE db = DATABASE() AND state = 'User sleep'`;
  const deadline = nowMs() + 20_000;
  while (nowMs() < deadline) {
    if ((await world.database.number(sleeping)) > 0) return;
    await pause(20);
  }
  world.expect(false, 'no transaction was held open');
}

/** Resolves when every transaction that was to be held open has ended. */
async function untilLetGo(world: World, tasks: number): Promise<void> {
  const passed = `SELECT COUNT(*) FROM task_events WHERE payload LIKE '%${AFTER_HELD}%'`;
  const over = await until(async () => (await world.database.number(passed)) >= tasks, { withinMs: 30_000 });
  world.expect(over !== null, 'a transaction was still held open after 30 s');
}

/** Others were seen while it was held, and it was seen. */
async function judge(world: World, held: readonly string[]): Promise<void> {
  const { events } = await world.database.read(await world.database.aheadMs());
  const { streams } = world.recorder;
  let meanwhile = 0;
  for (const taskId of held) {
    const rows = events.filter((row) => row.taskId === taskId);
    const at = rows.findIndex((row) => row.payload.includes(HELD_AT));
    const [row, next] = [rows[at], rows[at + 1]];
    if (row === undefined || next === undefined) {
      world.expect(false, `it has no event "${HELD_AT}"`, taskId);
      continue;
    }
    const heldMs = next.createdAtMs - row.createdAtMs;
    world.expect(
      heldMs >= HOLD_S * 900,
      `its transaction was open for ${Math.round(heldMs)} ms only`,
      taskId,
    );
    for (const stream of streams.filter((each) => each.taskId !== null && !held.includes(each.taskId)))
      meanwhile += stream.frames.filter(
        ({ atMs }) => atMs > row.createdAtMs && atMs < next.createdAtMs,
      ).length;
  }
  world.figure('transactions held open', held.length);
  world.figure('events of others seen meanwhile', meanwhile);
  world.expect(meanwhile > 0, 'nothing of the others was seen while transactions were held open');
}
