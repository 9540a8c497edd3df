import { openRaw } from '@a2a-cluster/testing';
import type { Scenario } from '../scenario.js';
import type { LoadTask } from '../world/load.js';
import { nowMs, pause } from '../world/now.js';
import type { World } from '../world/world.js';
import { seedAbandoned } from './support/abandoned.js';
import { largest } from './support/numbers.js';
import { missingServer, useOwnServer } from './support/own-server.js';
import { toldAfterMs } from './support/signals.js';
import { taskCount } from './support/tasks.js';
import { until } from './support/until.js';

const TICK_MS = 100;
/** Leases of a dead replica that expire meanwhile: more than one batch of the sweeper. */
const ABANDONED = 1_200;
const BATCH = 500;
const SLACK_MS = 1_000;

/** A database that can be taken away from everybody. */
interface Outage {
  begin(): Promise<void>;
  end(): Promise<void>;
}

/**
 * The database is away for two TTLs. Every holder stops by its own deadline; when the database is back, nothing is
 * claimed for one TTL, and then everything is, in batches. SQLite is a file: there somebody holds its write lock. Reads
 * go on, so nothing is in doubt: replicas stay ready, and no quiet period follows (protocol 2).
 */
export const outage: Scenario = {
  id: 'R7',
  title: 'the database is away for two TTLs',
  databases: ['postgresql', 'mysql', 'sqlite'],
  missing: missingServer,
  async run(world) {
    const { ttlMs } = world.settings;
    const away = await outageOf(world);
    const replicas = await world.startReplicas(3);
    const load = await world.load({
      tasks: taskCount(world),
      script: `tick 1000 ${TICK_MS}`,
      holders: replicas,
    });
    if (!world.quick) await seedAbandoned(world, { tasks: ABANDONED, expireInMs: ttlMs, push: false });
    const fault = world.fault('database_down', 'away for two TTLs');
    const downAtMs = nowMs();
    await away.begin();
    const notReady = Promise.all(
      replicas.map((replica) =>
        until(async () => (await replica.health())?.ready === false, { withinMs: 2 * ttlMs }),
      ),
    );
    await pause(downAtMs + 2 * ttlMs - nowMs());
    await away.end();
    const upAtMs = nowMs();
    fault.end();
    await world.settled({ withinMs: 2 * ttlMs + 2 * SLACK_MS });
    await Promise.all(load.map((task) => task.ended));
    const times = await notReady;
    if (world.provider !== 'sqlite') {
      world.figure('not ready after ms max', largest(times.map((ms) => ms ?? Number.POSITIVE_INFINITY)));
      world.expect(!times.includes(null), 'a replica said it was ready all the time');
    }
    judgeSignals(world, { load, downAtMs });
    await judgeSweeps(world, upAtMs);
    const backMs = await until(
      async () => {
        const healths = await Promise.all(replicas.map((replica) => replica.health()));
        return healths.every((health) => health?.ready);
      },
      { withinMs: ttlMs },
    );
    world.expect(backMs !== null, 'not every replica is ready again');
  },
};

async function outageOf(world: World): Promise<Outage> {
  if (world.provider !== 'sqlite') {
    const server = await useOwnServer(world);
    return { begin: () => server.stop('immediate'), end: () => server.start() };
  }
  const raw = await openRaw(world.database.url);
  world.atEnd(() => raw.close());
  return { begin: () => raw.run('BEGIN IMMEDIATE'), end: () => raw.run('ROLLBACK') };
}

function judgeSignals(
  world: World,
  { load, downAtMs }: { readonly load: readonly LoadTask[]; readonly downAtMs: number },
): void {
  const { ttlMs, marginMs } = world.settings;
  const told = toldAfterMs(load, downAtMs);
  world.figure('agents told after ms max', largest(told));
  const late = told.filter((ms) => ms > ttlMs - marginMs + SLACK_MS).length;
  world.expect(late === 0, `${late} agents were told after the deadline of their lease`);
}

/** Nothing in the quiet period, everything soon after it, never more than a batch in one transaction. */
async function judgeSweeps(world: World, upAtMs: number): Promise<void> {
  const { events } = await world.database.read(await world.database.aheadMs());
  const swept = events
    .filter(({ payload }) => payload.includes('replica_lost'))
    .map((row) => row.createdAtMs);
  const firstMs = Math.min(...swept) - upAtMs;
  world.figure('first sweep after ms', firstMs);
  world.figure('last sweep after ms', largest(swept) - upAtMs);
  world.expect(swept.length > 0, 'nothing was swept');
  const quietMs = world.provider === 'sqlite' ? 0 : world.settings.ttlMs;
  world.expect(
    firstMs >= quietMs - SLACK_MS,
    `swept ${firstMs} ms after the outage, within the quiet period`,
  );
  if (world.provider !== 'postgresql') return;
  const most = await world.database.number(
    `SELECT max(n) FROM (SELECT count(*) AS n FROM task_events WHERE payload LIKE '%replica_lost%' GROUP BY xmin) AS batches`,
  );
  world.figure('largest batch', most);
  world.expect(most <= BATCH, `${most} turns were swept by one transaction`);
}
