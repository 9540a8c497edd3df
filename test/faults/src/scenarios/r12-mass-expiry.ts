import type { Scenario } from '../scenario.js';
import { nowMs } from '../world/now.js';
import type { Replica } from '../world/replica.js';
import type { World } from '../world/world.js';
import { abandonedLeases, HOLDER, seedAbandoned, type Seeded } from './support/abandoned.js';
import { largest, percentile } from './support/numbers.js';
import { until } from './support/until.js';

/** Callers that ask all the time while the leases are swept. */
const CALLERS = 4;
const BASELINE_MS = 5_000;
/** So much before the expiry they begin to be measured. */
const AHEAD_MS = 100;
/** A lease may take so much at most: no promise of the protocol, but the end of the scenario's patience. */
const LEASE_MS = 5;
/** The leases of one transaction (protocol 6). */
const BATCH = 500;
/** More than that a replica must not grow by. */
const GROWTH_BYTES = 128 * 1024 * 1024;
/** Traffic may become slower by that, but below the floor nobody asks. */
const SLOWER = 5;
const FLOOR_MS = 50;

const LOST = `payload LIKE '%"replica_lost"%'`;

/** Thousands of leases expire at once while clients go on asking. */
export const massExpiry: Scenario = {
  id: 'R12',
  title: 'ten thousand leases expire at once, and a hundred thousand',
  databases: ['postgresql', 'mysql', 'sqlite'],
  async run(world) {
    // One line for each lease that was swept would be most of what there is to measure.
    const replicas = await world.startReplicas(2, { env: { LOG_LEVEL: 'error' } });
    await measured(world, { replicas, tasks: world.quick ? 1_000 : 10_000, name: '10 k' });
    // The other databases take minutes to be filled with so many.
    if (world.provider === 'postgresql' && !world.quick)
      await measured(world, { replicas, tasks: 100_000, name: '100 k' });
    await world.settled({ withinMs: world.settings.ttlMs + 1_000 });
  },
};

interface Mass {
  readonly replicas: readonly Replica[];
  readonly tasks: number;
  readonly name: string;
}

async function measured(world: World, { replicas, tasks, name }: Mass): Promise<void> {
  const [asked] = replicas;
  const known = await asked?.as().send({ text: 'done' });
  const taskId = known?.task?.id;
  if (asked === undefined || taskId === undefined) return world.expect(false, 'no task to ask for');
  const seeded = await seedAbandoned(world, {
    tasks,
    expireInMs: BASELINE_MS + world.settings.ttlMs + tasks / 10,
    push: false,
  });
  const before = await traffic(asked, { taskId, until: nowMs() + BASELINE_MS });
  await until(() => nowMs() >= seeded.expireAtMs - AHEAD_MS, { withinMs: seeded.expireAtMs });
  const sizes = sizesOf(world);
  const left = (): Promise<number> => abandonedLeases(world);
  let over = false;
  const during = traffic(asked, { taskId, until: Number.POSITIVE_INFINITY, over: () => over });
  const swept = await until(async () => (await left()) === 0, { withinMs: LEASE_MS * tasks, everyMs: 200 });
  const tookMs = swept === null ? null : nowMs() - seeded.expireAtMs;
  over = true;
  const latencies = await during;
  if (tookMs !== null) world.figure(`${name}: leases swept per second`, (tasks / tookMs) * 1_000);
  world.expect(
    tookMs !== null,
    `${await left()} of ${tasks} leases are still there after ${LEASE_MS * tasks} ms`,
  );
  world.figure(`${name}: swept within ms`, tookMs ?? -1);
  compare(world, { name, before, during: latencies });
  flat(world, { name, sizes });
  await bounded(world, seeded, name);
  await tidy(world, seeded);
}

/** How long calls took, in milliseconds. */
async function traffic(
  replica: Replica,
  {
    taskId,
    until: endMs,
    over = () => false,
  }: { readonly taskId: string; readonly until: number; readonly over?: () => boolean },
): Promise<number[]> {
  const took: number[] = [];
  const caller = async (index: number): Promise<void> => {
    while (nowMs() < endMs && !over()) {
      const beganAtMs = nowMs();
      await (index % 2 === 0 ? replica.as().get(taskId) : replica.as().send({ text: 'done' }));
      took.push(nowMs() - beganAtMs);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, (_, index) => caller(index)));
  return took;
}

function compare(
  world: World,
  {
    name,
    before,
    during,
  }: { readonly name: string; readonly before: readonly number[]; readonly during: readonly number[] },
): void {
  const [calm, busy] = [percentile(before, 0.99), percentile(during, 0.99)];
  world.figure(`${name}: p99 before ms`, calm);
  world.figure(`${name}: p99 during ms`, busy);
  world.expect(
    busy < Math.max(SLOWER * calm, FLOOR_MS),
    `${name}: other calls took ${Math.round(busy)} ms (p99), ${Math.round(calm)} ms before`,
  );
}

function sizesOf(world: World): ReadonlyMap<string, number> {
  return new Map(world.recorder.samples.map(({ replica, residentBytes }) => [replica, residentBytes]));
}

function flat(
  world: World,
  { name, sizes }: { readonly name: string; readonly sizes: ReadonlyMap<string, number> },
): void {
  const after = sizesOf(world);
  const growth = largest([...after].map(([replica, bytes]) => bytes - (sizes.get(replica) ?? bytes)));
  world.figure(`${name}: replica grew by MiB`, growth / 1024 / 1024);
  world.expect(growth < GROWTH_BYTES, `${name}: a replica grew by ${Math.round(growth / 1024 / 1024)} MiB`);
}

/** Each was ended once, with one event and no lease left, and no transaction ended more than a batch. */
async function bounded(world: World, { taskIds }: Seeded, name: string): Promise<void> {
  const { database, provider } = world;
  const seeded = `SELECT task_id FROM task_events WHERE holder = '${HOLDER}'`;
  const counts = {
    'turns are FAILED': `tasks WHERE state = 'TASK_STATE_FAILED' AND version = 2 AND id IN (${seeded})`,
    'have an end': `task_events WHERE seq = 2 AND ${LOST} AND task_id IN (${seeded})`,
    'have no event behind it': `tasks WHERE id IN (${seeded}) AND id NOT IN (SELECT task_id FROM task_events WHERE seq > 2)`,
  };
  for (const [what, from] of Object.entries(counts)) {
    const found = await database.number(`SELECT COUNT(*) FROM ${from}`);
    world.expect(found === taskIds.length, `${name}: ${found} of ${taskIds.length} ${what}`);
  }
  if (provider !== 'postgresql') return;
  const batch = await database.number(
    `SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM task_events WHERE ${LOST} GROUP BY xmin) batches`,
  );
  world.figure(`${name}: largest batch`, batch);
  world.expect(batch <= BATCH, `${name}: one transaction ended ${batch} turns, more than ${BATCH}`);
}

/** They were judged above: that a turn ends within a TTL and a second (I6) is not asked of so many at once. */
async function tidy(world: World, { taskIds }: Seeded): Promise<void> {
  for (let from = 0; from < taskIds.length; from += BATCH) {
    const some = taskIds
      .slice(from, from + BATCH)
      .map((id) => `'${id}'`)
      .join();
    await world.database.query(`DELETE FROM task_events WHERE task_id IN (${some})`);
    await world.database.query(`DELETE FROM tasks WHERE id IN (${some})`);
  }
}
