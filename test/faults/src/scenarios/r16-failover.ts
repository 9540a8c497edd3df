import { createTestDatabase, openRaw } from '@a2a-cluster/testing';
import type { Scenario } from '../scenario.js';
import {
  missingPostgres,
  startPrivatePostgres,
  type PrivatePostgres,
  type PrivateStandby,
} from '../tools/private-postgres.js';
import type { TcpProxy } from '../tools/tcp-proxy.js';
import { nowMs, pause } from '../world/now.js';
import type { Replica } from '../world/replica.js';
import type { World } from '../world/world.js';
import { expectAllTicks, outcomeOf } from './support/outcome.js';
import { openProxy } from './support/proxies.js';
import { until } from './support/until.js';

const TASKS = 20;
const TICKS = 150;
const TICK_MS = 100;
/** How long the way leads to a server that follows already and does not take writes yet. */
const STANDBY_MS = 500;
const EVICTED_MS = 10_000;
const HINTS_MS = 15_000;
/** Complaints of a replica while the database takes no writes. */
const MOST_LINES_PER_SECOND = 20;

/**
 * The primary turns read-only, its name moves to the standby, and that is promoted. No connection breaks: who keeps
 * the old ones writes nothing any more. PostgreSQL, where one is easily made; MariaDB's failover looks the same from
 * here (1290).
 */
export const failover: Scenario = {
  id: 'R16',
  title: 'a failover leaves connections on the old primary, which is read-only',
  databases: ['postgresql'],
  missing: () => {
    const missing = missingPostgres();
    return missing === null ? null : `${missing} is missing`;
  },
  async run(world) {
    const primary = await startPrivatePostgres();
    world.atEnd(() => primary.remove());
    const { url } = await createTestDatabase({ provider: 'postgresql', server: primary.url() });
    await world.useDatabase(url);
    const standby = await primary.standby();
    const proxy = await openProxy(world);
    const replicas = await world.startReplicas(3, { databaseUrl: proxy.through(url) });
    const load = await world.load({ tasks: TASKS, script: `tick ${TICKS} ${TICK_MS}`, holders: replicas });
    const outageMs = await failOver(world, { primary, standby, proxy, url });
    await judgeConnections(world, { primary, replicas });
    await world.settled({ withinMs: TICKS * TICK_MS + 3 * world.settings.ttlMs });
    await Promise.all(load.map((task) => task.ended));
    const { completed, failed } = await outcomeOf(world, load);
    world.figure('completed', completed);
    world.figure('failed', failed);
    if (outageMs < world.settings.survivableMs) await expectAllTicks(world, load, TICKS);
    for (const replica of replicas) {
      const answer = await replica.as().send({ text: 'tick 1 1' });
      const state = answer.task?.status.state ?? 'refused';
      world.expect(state === 'TASK_STATE_COMPLETED', `a turn on ${replica.name} afterwards is ${state}`);
    }
  },
};

interface Servers {
  readonly primary: PrivatePostgres;
  readonly standby: PrivateStandby;
  readonly proxy: TcpProxy;
  readonly url: string;
}

/** Gives for how long no server took writes. */
async function failOver(world: World, { primary, standby, proxy, url }: Servers): Promise<number> {
  const fault = world.fault('database_down', 'read-only, then a standby, then promoted');
  const beganAtMs = nowMs();
  await primary.set('ALTER SYSTEM SET default_transaction_read_only = on');
  // Acknowledged events must not be lost by the failover itself: that is a stated limit.
  await standby.caughtUp();
  proxy.setTarget({ host: standby.host, port: standby.port });
  await pause(STANDBY_MS);
  await standby.promote();
  const outageMs = nowMs() - beganAtMs;
  fault.end();
  await world.useDatabase(standby.url(new URL(url).pathname.slice(1)));
  world.figure('without a primary ms', outageMs);
  const lines = world.recorder.logs.filter(
    ({ atMs, level }) => atMs >= beganAtMs && atMs <= beganAtMs + outageMs && level !== 'info',
  );
  const perSecond = lines.length / world.replicas.length / (outageMs / 1_000);
  world.figure('complaints per replica and s', perSecond);
  world.expect(
    perSecond <= MOST_LINES_PER_SECOND,
    `each replica complains ${Math.round(perSecond)} times a second`,
  );
  return outageMs;
}

/** Every connection leaves the old primary, and hints come again. */
async function judgeConnections(
  world: World,
  { primary, replicas }: { readonly primary: PrivatePostgres; readonly replicas: readonly Replica[] },
): Promise<void> {
  const raw = await openRaw(primary.url());
  const left = async (): Promise<boolean> => {
    const rows = await raw.query(`SELECT 1 FROM pg_stat_activity WHERE application_name LIKE 'a2a-cluster%'`);
    return rows.length === 0;
  };
  const leftMs = await until(left, { withinMs: EVICTED_MS });
  world.figure('old primary left after ms', leftMs ?? -1);
  world.expect(leftMs !== null, `connections to the old primary are kept for more than ${EVICTED_MS} ms`);
  await raw.close();
  const heard = async (): Promise<boolean> => {
    const healths = await Promise.all(replicas.map((replica) => replica.health()));
    return healths.every((health) => (health?.['stream'] as { listening?: boolean } | undefined)?.listening);
  };
  const heardMs = await until(heard, { withinMs: HINTS_MS });
  world.figure('hints again after ms', heardMs ?? -1);
  world.expect(heardMs !== null, `no hints ${HINTS_MS} ms after the failover`);
}
