import type { Scenario } from '../scenario.js';
import { nowMs, pause } from '../world/now.js';
import type { Replica } from '../world/replica.js';
import { stateOf } from '../world/stream.js';
import type { World } from '../world/world.js';
import { expireLease } from './support/expire-lease.js';
import { inFlight } from './support/in-flight.js';

/** What a caller is told who cancels a task that has ended some other way. */
const TASK_NOT_CANCELABLE = -32_002;
const CANCELED = 'TASK_STATE_CANCELED';
const OUTCOMES = ['TASK_STATE_COMPLETED', CANCELED, 'TASK_STATE_FAILED'];

/** The three go off within this time of each other. */
const SPREAD_MS = 50;
/** Attempts to start the task of a round. */
const STARTS = 5;
/** Every so many rounds have somebody who watches the end. */
const WATCHED_EVERY = 20;
/** A fault is written down for this many rounds at once, so that it excuses only the time they take. */
const BATCH = 250;

/** Cancel from B, completion on A and a sweep from C, all at once: one of them wins, and the others are told so. */
export const terminalRaces: Scenario = {
  id: 'R11',
  title: 'cancel, completion and sweep race for one task',
  databases: ['postgresql', 'mysql', 'sqlite'],
  quick: true,
  async run(world) {
    const [a, b] = await world.startReplicas(2);
    // Passes so often that its sweep comes when the lease expires.
    const c = await world.startReplica({ name: 'r3', env: { SWEEP_INTERVAL_MS: '20' } });
    if (a === undefined || b === undefined) return;
    const rounds = roundsOf(world);
    const beganAtMs = nowMs();
    for (let first = 0; first < rounds; first += BATCH) {
      const fault = a.fault('released', 'its leases are expired in the tables');
      const count = Math.min(BATCH, rounds - first);
      await inFlight({ count, width: widthOf(world) }, (index) =>
        race(world, { a, b, c, index: first + index }),
      );
      await world.settled({ withinMs: world.settings.ttlMs + 1_000 });
      fault.end();
    }
    world.figure('rounds', rounds);
    world.figure('rounds/s', rounds / ((nowMs() - beganAtMs) / 1_000));
    await judge(world);
  },
};

interface Round {
  readonly a: Replica;
  readonly b: Replica;
  readonly c: Replica;
  readonly index: number;
}

async function race(world: World, { a, b, c, index }: Round): Promise<void> {
  const { random } = world;
  const [completeMs, cancelMs, expireMs] = [
    random.int(0, SPREAD_MS),
    random.int(0, SPREAD_MS),
    random.int(0, SPREAD_MS),
  ];
  const taskId = await start(a, `sleep ${completeMs + 1}; done`);
  if (taskId === undefined) return world.expect(false, 'a task could not be started');
  const watcher = index % WATCHED_EVERY === 0 ? c.as().subscribe(taskId) : null;
  const cancelled = pause(cancelMs).then(() => b.as().cancel(taskId));
  const expired = pause(expireMs).then(() => expireLease(world.database, taskId));
  const [answer] = await Promise.all([cancelled, expired]);
  const state = answer.task?.status.state;
  const fits = answer.error ? answer.error.code === TASK_NOT_CANCELABLE : state === CANCELED;
  world.expect(fits, `the canceller was told ${JSON.stringify(answer.error ?? state ?? answer)}`, taskId);
  const end = await watcher?.ended;
  if (end?.how === 'error') {
    // It came too late: the task had ended.
    world.expect(watcher?.record.frames.length === 0, 'a watcher saw the task and then an error', taskId);
  }
}

/** On a machine that is busy a start may be given up, which says nothing of a race. */
async function start(a: Replica, text: string): Promise<string | undefined> {
  for (let tries = 0; tries < STARTS; tries += 1) {
    const { task } = await a.as().send({ text, returnImmediately: true });
    if (task) return task.id;
  }
  return undefined;
}

/** What the tables say in the end is what every canceller was told. */
async function judge(world: World): Promise<void> {
  const rows = await world.database.query('SELECT id, state FROM tasks');
  const ends = new Map(rows.map((row) => [String(row['id']), String(row['state'])]));
  for (const { method, taskId, error, state } of world.recorder.calls) {
    if (method !== 'CancelTask' || taskId === null) continue;
    const end = ends.get(taskId);
    const told = state ?? String(error?.code);
    world.expect((state === CANCELED) === (end === CANCELED), `told ${told}, but it ended ${end}`, taskId);
  }
  for (const { taskId, frames, ended } of world.recorder.streams) {
    const last = frames.at(-1);
    if (taskId === null || last === undefined || ended?.how !== 'complete') continue;
    const seen = stateOf(last.event);
    world.expect(
      seen === ends.get(taskId),
      `a watcher saw ${seen} last, but it ended ${ends.get(taskId)}`,
      taskId,
    );
  }
  for (const outcome of OUTCOMES) {
    const count = [...ends.values()].filter((state) => state === outcome).length;
    world.figure(outcome.replace('TASK_STATE_', '').toLowerCase(), count);
    world.expect(count > 0, `no race ended ${outcome}`);
  }
}

function roundsOf(world: World): number {
  return world.quick ? 500 : 10_000;
}

/** Rounds in flight. One writer at a time is all SQLite has. */
function widthOf(world: World): number {
  return world.provider === 'sqlite' ? 4 : 16;
}
