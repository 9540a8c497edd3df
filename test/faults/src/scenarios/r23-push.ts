import type { Tables } from '../history/history.js';
import type { Scenario } from '../scenario.js';
import { limit, pause } from '../world/now.js';
import type { World } from '../world/world.js';
import { latenciesMs } from './support/latency.js';
import { percentile } from './support/numbers.js';
import { expectEnds, expectPauses, healthyLagsMs } from './support/push-outcome.js';
import {
  KINDS,
  openSinks,
  startPushed,
  type Kind,
  type PushedTask,
  type Sinks,
} from './support/push-sinks.js';
import { until } from './support/until.js';
import { diesByItself, startArmed, type Armed } from './support/victims.js';

/** How often what turns are told with webhooks may be later than without; the benchmarks say it strictly. */
const LATER_FACTOR = 2;
/** What a shared machine adds to either. */
const NOISE_MS = 100;
/** Deliveries of a sender before it is hurt. */
const PASS = 10;
/** A sender stands still for so much longer than its claims live. */
const LONGER_MS = 1_000;
/** More than a slow webhook takes meanwhile. */
const BACKLOG = 'sleep 500; tick 80 10; done';
const PUSHED_WITHIN_MS = 25_000;
const HANGING: readonly Kind[] = ['hanging', 'hanging', 'hanging'];

/**
 * Webhooks that fail, hang, refuse and go away, while senders are killed before and after an attempt, drain, and stand
 * still for longer than their claims: each event comes, in order, and nobody waits for those that hang.
 */
export const push: Scenario = {
  id: 'R23',
  title: 'webhooks fail, hang and go away, while their senders die, drain and stand still',
  databases: ['postgresql', 'mysql', 'sqlite'],
  quick: true,
  async run(world) {
    const sinks = await openSinks(world);
    const armed = await Promise.all(Array.from({ length: 5 }, () => startArmed(world, '')));
    await besideHanging(world, { sinks, armed });
    const tasks = await startAll(world, { sinks, armed });
    await hurt(world, { sinks, armed, tasks });
    sinks.recover();
    await world.settled({ withinMs: world.settings.ttlMs + 2_000 });
    await world.pushed({ withinMs: PUSHED_WITHIN_MS });
    expectPauses(world);
    expectEnds(world, await world.database.read(await world.database.aheadMs()));
  },
};

interface Cluster {
  readonly sinks: Sinks;
  readonly armed: readonly Armed[];
}

/** Turns without webhooks, then beside some that hang: neither their streams nor a healthy webhook wait for those. */
async function besideHanging(world: World, cluster: Cluster): Promise<void> {
  const mixed = (index: number): readonly Kind[] => (index < 2 ? [...HANGING, 'healthy'] : HANGING);
  const ticks = world.quick ? 25 : 60;
  // The code that serves webhooks runs for the first time: how long that takes is judged nowhere. Nobody is hurt
  // meanwhile, so the pauses of those that fail now can be judged.
  await runTurns(cluster, { ticks: 10, kindsOf: (index) => [...mixed(index), 'limited', 'failing'] });
  const without: PushedTask[] = [];
  const beside: PushedTask[] = [];
  for (let round = 0; round < (world.quick ? 1 : 3); round += 1) {
    without.push(...(await runTurns(cluster, { ticks, kindsOf: () => [] })));
    beside.push(...(await runTurns(cluster, { ticks, kindsOf: mixed })));
  }
  const tables = await world.database.read(await world.database.aheadMs());
  const withoutMs = percentile(frameLagsMs(without, tables), 0.99);
  const besideMs = percentile(frameLagsMs(beside, tables), 0.99);
  const healthy = healthyLagsMs(world, { tables, tasks: beside });
  const healthyMs = percentile(healthy, 0.99);
  world.figure('frame lag ms p99 without webhooks', withoutMs);
  world.figure('frame lag ms p99 beside hanging webhooks', besideMs);
  world.figure('healthy delivery ms p50', percentile(healthy, 0.5));
  world.figure('healthy delivery ms p99', healthyMs);
  world.expect(
    besideMs <= LATER_FACTOR * withoutMs + NOISE_MS,
    `streams are told after ${besideMs} ms beside webhooks that hang, ${withoutMs} ms without any`,
  );
  // Who waits for one that hangs waits until its attempt is given up.
  const { pushTimeoutMs } = world.settings;
  world.expect(
    healthy.length > 0 && healthyMs < pushTimeoutMs,
    `a healthy webhook is told after ${Math.round(healthyMs)} ms (p99 of ${healthy.length}) while others hang`,
  );
}

/** A turn on each replica, with webhooks of these kinds. */
async function runTurns(
  { sinks, armed }: Cluster,
  turns: { readonly ticks: number; readonly kindsOf: (index: number) => readonly Kind[] },
): Promise<readonly PushedTask[]> {
  const script = `sleep 300; tick ${turns.ticks} 50; done`;
  const starting = armed.map(({ replica: holder }, index) =>
    startPushed(sinks, { holder, script, kinds: turns.kindsOf(index) }),
  );
  const tasks = (await Promise.all(starting)).filter((task) => task !== null);
  await Promise.all(tasks.map(({ caller }) => caller.ended));
  return tasks;
}

/** Between the commit of each event and its frame. */
function frameLagsMs(tasks: readonly PushedTask[], { events }: Tables): number[] {
  return tasks.flatMap(({ caller, taskId }) =>
    latenciesMs(
      caller,
      events.filter((row) => row.taskId === taskId),
    ),
  );
}

async function startAll(world: World, { sinks, armed }: Cluster): Promise<readonly PushedTask[]> {
  const each = world.quick ? 2 : 6;
  const holders = armed.flatMap(({ replica }) => Array.from({ length: each }, () => replica));
  const script = `sleep 500; tick ${world.quick ? 12 : 40} 100; done`;
  const tasks = await Promise.all(
    holders.map((holder) => startPushed(sinks, { holder, script, kinds: KINDS })),
  );
  return tasks.filter((task) => task !== null);
}

/** All but the first are hurt, each in its own way; resolves when the last is over it. */
async function hurt(
  world: World,
  { sinks, armed, tasks }: Cluster & { readonly tasks: readonly PushedTask[] },
): Promise<void> {
  const [, before, after, stopped, leaving] = armed;
  if (!before || !after || !stopped || !leaving) return;
  await Promise.all([
    before.points.set(`push.beforePost=kill#${PASS}`),
    after.points.set(`push.afterPost=kill#${PASS}`),
  ]);
  await Promise.all([
    diesByItself(world, before.replica, 'before a delivery'),
    diesByItself(world, after.replica, 'after a delivery'),
    standsStill(world, { sinks, stopped }),
    drains(world, { leaving, tasks }),
  ]);
}

/**
 * Between having seen that its claim is alive and sending: the worst moment there is. When it goes on another is in
 * the middle of what is left.
 */
async function standsStill(
  world: World,
  { sinks, stopped }: { readonly sinks: Sinks; readonly stopped: Armed },
): Promise<void> {
  const { replica, points } = stopped;
  const task = await startPushed(sinks, { holder: replica, script: BACKLOG, kinds: ['slow'] });
  await points.set(`push.beforePost=stop#${PASS}?${task?.taskId}`);
  const passed = await Promise.race([points.passed('push.beforePost'), limit(PUSHED_WITHIN_MS)]);
  world.expect(passed !== null, `${replica.name} delivers nothing`);
  // It stops itself a moment later; a second stop from here could come to pass after its end.
  const fault = replica.fault('stop', 'at push.beforePost');
  await pause(world.settings.pushClaimTtlMs + LONGER_MS);
  replica.cont();
  fault.end();
}

async function drains(
  world: World,
  { leaving, tasks }: { readonly leaving: Armed; readonly tasks: readonly PushedTask[] },
): Promise<void> {
  const { replica } = leaving;
  const own = new Set(tasks.filter(({ holder }) => holder === replica).map(({ taskId }) => taskId));
  const delivered = (): number => world.recorder.pushes.filter(({ taskId }) => own.has(taskId)).length;
  await until(() => delivered() >= PASS, { withinMs: PUSHED_WITHIN_MS });
  replica.terminate();
  const code = await Promise.race([replica.exited, limit(PUSHED_WITHIN_MS)]);
  world.expect(code === 0, `${replica.name} was told to end and ended with ${code}`);
}
