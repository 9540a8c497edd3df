import type { Scenario } from '../scenario.js';
import type { LoadTask } from '../world/load.js';
import { nowMs, pause } from '../world/now.js';
import type { Replica } from '../world/replica.js';
import type { World } from '../world/world.js';
import { leaseGoes, leaseOf } from './support/leases.js';
import { outcomeOf } from './support/outcome.js';
import { lockRow } from './support/row-lock.js';
import { startArmed, type Armed } from './support/victims.js';

/** So many other turns run beside those whose rows are locked. */
const OTHERS = { postgresql: 100, mysql: 30, sqlite: 0 };
const OTHER_TICK_MS = 500;

/**
 * Renewals that come late or not at all. Not on SQLite, where nobody locks a row: a foreign transaction there stops
 * all writes, which is an outage (R7).
 */
export const staleRenewal: Scenario = {
  id: 'R4',
  title: 'leases that cannot be renewed: locked rows, hanging and late heartbeats',
  databases: ['postgresql', 'mysql'],
  async run(world) {
    const watcher = await world.startReplica();
    const [locked, hanging, late, slow] = await Promise.all(
      ['', '', '', ''].map((plan) => startArmed(world, plan)),
    );
    if (!locked || !hanging || !late || !slow) return;
    await Promise.all([
      lockedRows(world, { holder: locked.replica, watcher }),
      noBeats(world, { victim: hanging, watcher, name: 'hanging' }),
      noBeats(world, { victim: late, watcher, name: 'late' }),
      noBeats(world, { victim: slow, watcher, name: 'slow' }),
    ]);
    await world.settled({ withinMs: world.settings.ttlMs + 1_000 });
  },
};

interface Of {
  readonly holder: Replica;
  readonly watcher: Replica;
}

/** Three rows are locked for different times; the other turns of the same replica go on. */
async function lockedRows(world: World, { holder, watcher }: Of): Promise<void> {
  const { survivableMs, ttlMs } = world.settings;
  const ticks = Math.ceil((3.5 * ttlMs) / OTHER_TICK_MS);
  const others = await world.load({
    tasks: world.quick ? 20 : OTHERS[world.provider],
    script: `tick ${ticks} ${OTHER_TICK_MS}; done`,
    holders: [holder],
    watchers: [watcher],
    push: false,
  });
  const [kept, lost, longLost] = await world.load({
    tasks: 3,
    script: (index) => (index === 0 ? `tick ${ticks} ${OTHER_TICK_MS}; done` : 'zombie 40 25; tick 2000 50'),
    holders: [holder],
    watchers: [watcher],
  });
  if (!kept || !lost || !longLost) return world.expect(false, 'a turn did not begin');
  await Promise.all([
    keepsLease(world, kept, 0.8 * survivableMs),
    losesLease(world, lost, 1.1 * ttlMs),
    losesLease(world, longLost, 2 * ttlMs),
  ]);
  await Promise.all(others.map(({ ended }) => ended));
  const { completed } = await outcomeOf(world, others);
  world.expect(
    completed === others.length,
    `${others.length - completed} turns beside the locked rows were lost`,
  );
  world.figure('turns beside the locked rows', completed);
}

async function keepsLease(world: World, task: LoadTask, lockedMs: number): Promise<void> {
  const lock = await lockRow(world, {
    table: 'task_leases',
    taskId: task.taskId,
    replica: task.holder.name,
  });
  await pause(lockedMs);
  await lock.release();
  await task.ended;
  const { completed } = await outcomeOf(world, [task]);
  world.expect(completed === 1, `it did not survive a lock of ${Math.round(lockedMs)} ms`, task.taskId);
}

async function losesLease(world: World, task: LoadTask, lockedMs: number): Promise<void> {
  const { taskId, holder } = task;
  const lock = await lockRow(world, { table: 'task_leases', taskId, replica: holder.name });
  // Nobody can change it now.
  const lease = await leaseOf(world, taskId);
  const expiresAtMs = nowMs() + (lease?.remainingMs ?? 0);
  await pause(lockedMs);
  await lock.release();
  await task.ended;
  await expectToldBefore(world, task, expiresAtMs);
  const { failed } = await outcomeOf(world, [task]);
  world.expect(failed === 1, `it outlived a lock of ${Math.round(lockedMs)} ms`, taskId);
}

/** The holder told its agent before the lease expired, and nothing revived the turn. */
async function expectToldBefore(
  world: World,
  { taskId, holder }: LoadTask,
  expiresAtMs: number,
): Promise<void> {
  const told = await holder.log((line) => line.taskId === taskId && line.msg === 'agent signal fired');
  const earlyMs = expiresAtMs - (told?.atMs ?? Number.POSITIVE_INFINITY);
  world.expect(earlyMs > 0, `its signal fired ${Math.round(-earlyMs)} ms after the expiry`, taskId);
  const key = 'least time from signal to expiry ms';
  world.figure(key, Math.min(Number(world.figures[key] ?? Number.POSITIVE_INFINITY), earlyMs));
}

interface NoBeats {
  readonly victim: Armed;
  readonly watcher: Replica;
  readonly name: keyof typeof PLANS;
}

const HANG = 'leases.beat@before=hang;leases.beatOne@before=hang';

/** What is done to the heartbeat. */
const PLANS = {
  hanging: async ({ points }: Armed) => points.set(HANG),
  /** The rows are renewed, and the answer comes after the old deadline: it must be taken for a loss. */
  late: async ({ points }: Armed, { ttlMs }: World['settings']) => {
    const delay = `delay:${Math.round(1.1 * ttlMs)}`;
    await points.set(`leases.beat@after=${delay};leases.beatOne@after=${delay}`);
  },
  /** The last answer comes late but in time: trust counts from when it was asked for. */
  slow: async ({ points }: Armed, { marginMs, renewalTimeoutMs }: World['settings']) => {
    const most = 0.95 * renewalTimeoutMs;
    await points.set(`leases.beat@after=delay:${Math.round(Math.min(most, 1.1 * marginMs))}`);
    await points.passed('leases.beat@after');
    await points.set(HANG);
  },
};

/** Only the heartbeat is hurt; what the agents say when they are told must not land in the time that is left. */
async function noBeats(world: World, { victim, watcher, name }: NoBeats): Promise<void> {
  const { replica } = victim;
  const load = await world.load({
    tasks: 4,
    script: (index) => (index % 2 === 0 ? 'zombie 60 25; tick 2000 50' : 'tick 2000 50'),
    holders: [replica],
    watchers: [watcher],
  });
  const fault = replica.fault('statements', `its heartbeats are ${name}`);
  await PLANS[name](victim, world.settings);
  for (const { taskId } of load) await leaseGoes(world, taskId);
  await victim.points.set('');
  fault.end();
  const { failed } = await outcomeOf(world, load);
  world.expect(
    failed === load.length,
    `${load.length - failed} turns with ${name} heartbeats were not ended`,
  );
  await expectSilence(world, load);
  const expiries = await expiriesOf(world);
  for (const task of load) await expectToldBefore(world, task, expiries.get(task.taskId) ?? 0);
}

/** When the leases expired under which turns were swept, by the harness's clock. */
async function expiriesOf(world: World): Promise<ReadonlyMap<string, number>> {
  const aheadMs = await world.database.aheadMs();
  const { events } = await world.database.read(aheadMs);
  return new Map(
    events.flatMap(({ taskId, payload }) => {
      const [, expiredAt] = /"reason":"replica_lost","expiredAt":"([^"]+)"/.exec(payload) ?? [];
      return expiredAt === undefined ? [] : [[taskId, Date.parse(expiredAt) - aheadMs] as const];
    }),
  );
}

/** After the signal of a lost turn nothing of it lands, and nobody is told that it was cancelled. */
async function expectSilence(world: World, load: readonly LoadTask[]): Promise<void> {
  const { events } = await world.database.read(await world.database.aheadMs());
  const said = events.filter(
    ({ taskId, payload }) =>
      load.some((task) => task.taskId === taskId) && /"zombie \d|TASK_STATE_CANCELED/.test(payload),
  );
  for (const { taskId, seq } of said)
    world.expect(false, `seq ${seq} was said after the signal of the lost turn fired`, taskId);
}
