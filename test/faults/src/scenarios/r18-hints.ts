import { stalledMs } from '../checker/figures.js';
import type { Scenario } from '../scenario.js';
import type { LoadTask } from '../world/load.js';
import type { Replica } from '../world/replica.js';
import type { Stream } from '../world/stream.js';
import type { World } from '../world/world.js';
import { allEnded } from './support/ended.js';
import { latenciesMs, textOf } from './support/latency.js';
import { largest, percentile } from './support/numbers.js';
import { startArmed, type Armed } from './support/victims.js';

const POLL_MS = 500;
/** For the read itself and the way to the client, on a machine that does other things too. */
const SLACK_MS = 300;

/** What becomes of the hints between replicas, and on which databases there is such a thing. */
const LOST = [
  { name: 'all lost', plan: 'hints.onHint=drop' },
  { name: 'half lost', plan: 'hints.onHint=drop%0.5' },
];
const MANGLED = [
  { name: 'not sent', plan: 'hints.notify=error' },
  { name: 'twice', plan: 'hints.notify=twice;hints.onHint=twice' },
  { name: 'in another order', plan: 'hints.notify=shuffle;hints.onHint=shuffle' },
  { name: '8 000 bytes', plan: 'hints.notify=long' },
  { name: 'nonsense', plan: 'hints.notify=garbage' },
];

/**
 * Hints are lost, doubled, late, full or nonsense. They only wake: every subscriber sees the same, at the latest with
 * the next look at the log. SQLite has a counter in their place, which can only be missed; MySQL has none.
 */
export const hints: Scenario = {
  id: 'R18',
  title: 'hints between replicas are lost, doubled, late, full or nonsense',
  databases: ['postgresql', 'sqlite'],
  async run(world) {
    const env = { POLL_INTERVAL_MS: String(POLL_MS) };
    const replicas = await Promise.all([1, 2, 3].map(() => startArmed(world, '', { env })));
    const ways = world.provider === 'sqlite' ? LOST : [...LOST, ...MANGLED];
    for (const way of ways) await spoil(world, { ...way, replicas });
  },
};

interface Spoiled {
  readonly name: string;
  readonly plan: string;
  readonly replicas: readonly Armed[];
}

async function spoil(world: World, { name, plan, replicas }: Spoiled): Promise<void> {
  const seeded = `seed=${world.random.int(1, 1_000_000)};${plan}`;
  for (const armed of replicas) await armed.points.set(seeded);
  const fault = world.fault('hints', name);
  const ticks = world.quick ? 30 : 80;
  const load = await world.load({
    tasks: tasksOf(world),
    script: `tick ${ticks} 50; done`,
    holders: replicas.map(({ replica }) => replica),
  });
  const others = load.map((task) => thirdOf(task, replicas).as().subscribe(task.taskId));
  const streams = [...load.map(({ subscriber }) => subscriber), ...others];
  await allEnded(world, { streams, turnMs: ticks * 50 });
  await world.settled({ withinMs: world.settings.ttlMs });
  fault.end();
  await judge(world, { name, load, others });
}

/** Neither the one that runs the task nor the one that watches it already. */
function thirdOf({ holder, watcher }: LoadTask, replicas: readonly Armed[]): Replica {
  return replicas.find(({ replica }) => replica !== holder && replica !== watcher)?.replica ?? watcher;
}

interface Seen {
  readonly name: string;
  readonly load: readonly LoadTask[];
  readonly others: readonly Stream[];
}

async function judge(world: World, { name, load, others }: Seen): Promise<void> {
  const { events } = await world.database.read(await world.database.aheadMs());
  const latencies: number[] = [];
  for (const [index, { taskId, subscriber }] of load.entries()) {
    const other = others[index];
    if (other === undefined) continue;
    const [one, two] = [subscriber, other].map(({ record }) =>
      record.frames.slice(1).map(({ event }) => textOf(event)),
    );
    // It came too late: the task had ended.
    if (other.record.ended?.how === 'error') continue;
    const shared = Math.min(one?.length ?? 0, two?.length ?? 0);
    const same = JSON.stringify(one?.slice(-shared)) === JSON.stringify(two?.slice(-shared));
    world.expect(shared > 0 && same, `${name}: two subscribers saw different things`, taskId);
    const rows = events.filter((row) => row.taskId === taskId);
    latencies.push(...latenciesMs(subscriber, rows), ...latenciesMs(other, rows));
  }
  world.figure(`${name}: latency ms p50`, percentile(latencies, 0.5));
  const worst = largest(latencies);
  world.figure(`${name}: latency ms max`, worst);
  // A machine that stands still lets its replicas stand still, too.
  const limitMs = POLL_MS + SLACK_MS + stalledMs(world.recorder);
  world.expect(
    worst <= limitMs,
    `${name}: an event came after ${Math.round(worst)} ms, more than ${limitMs}`,
  );
}

function tasksOf(world: World): number {
  return world.quick ? 6 : 9;
}
