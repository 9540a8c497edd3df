import type { Scenario } from '../scenario.js';
import { Failpoints } from '../tools/failpoints.js';
import type { TcpProxy } from '../tools/tcp-proxy.js';
import { nowMs, pause } from '../world/now.js';
import type { Replica } from '../world/replica.js';
import type { World } from '../world/world.js';
import { endOneConnection } from './support/backends.js';
import { expectAllTicks } from './support/outcome.js';
import { openProxy } from './support/proxies.js';
import { taskCount } from './support/tasks.js';

const TICK_MS = 100;
const KILL_EVERY_MS = 50;
/** Of the answers to a commit, how many are lost; and of the commits, how many come late, beside their retry. */
const LOST_SHARE = 0.1;
const planOf = (seed: number): string =>
  `seed=${seed};journal.commit@after=lose%${LOST_SHARE};journal.commit@before=late%${LOST_SHARE}`;

/**
 * Connections end while the database goes on: first any of them, 20 a second; then such that a commit was done and
 * nobody told its writer (by a proxy, and by a failpoint). No event is lost, none is stored twice, no turn is lost.
 */
export const connections: Scenario = {
  id: 'R8',
  title: 'connections end, and answers to commits are lost',
  databases: ['postgresql', 'mysql', 'sqlite'],
  quick: true,
  async run(world) {
    // SQLite has no connections to lose: there it is the failpoint alone.
    const proxy = world.provider === 'sqlite' ? null : await openProxy(world);
    const first = await world.startReplica(
      proxy ? { databaseUrl: proxy.through(world.database.url) } : { failpoints: '' },
    );
    const others = await world.startReplicas(2, { failpoints: '' });
    const replicas = [first, ...others];
    if (world.provider !== 'sqlite') await killConnections(world, replicas);
    await loseAnswers(world, { replicas, proxy });
  },
};

async function killConnections(world: World, replicas: readonly Replica[]): Promise<void> {
  const forMs = world.quick ? 3_000 : 10_000;
  const ticks = forMs / TICK_MS;
  const load = await world.load({
    tasks: taskCount(world),
    script: `tick ${ticks} ${TICK_MS}`,
    holders: replicas,
  });
  const fault = world.fault('connections', `ended at random, one every ${KILL_EVERY_MS} ms`);
  const until = nowMs() + forMs;
  let ended = 0;
  while (nowMs() < until) {
    if (await endOneConnection(world)) ended += 1;
    await pause(KILL_EVERY_MS);
  }
  fault.end();
  await world.settled({ withinMs: 2 * forMs + world.settings.ttlMs });
  await Promise.all(load.map((task) => task.ended));
  world.figure('connections ended', ended);
  world.expect(ended > 0, 'no connection was ended');
  await expectAllTicks(world, load, ticks);
}

async function loseAnswers(
  world: World,
  { replicas, proxy }: { readonly replicas: readonly Replica[]; readonly proxy: TcpProxy | null },
): Promise<void> {
  const failpoints = replicas.slice(proxy ? 1 : 0).map((replica) => new Failpoints(replica.channel));
  const ticks = world.quick ? 30 : 100;
  const load = await world.load({
    tasks: taskCount(world),
    script: `tick ${ticks} ${TICK_MS}`,
    holders: replicas,
  });
  const fault = world.fault(
    'connections',
    `${LOST_SHARE * 100} % of the answers to commits are lost, and so many are late`,
  );
  const seed = world.options.seed;
  await Promise.all(failpoints.map((each, index) => each.set(planOf(seed + index))));
  proxy?.loseAnswers(LOST_SHARE, () => world.random.next(), {
    only: 'not_listen',
    after: WRITES[world.provider],
  });
  await world.settled({ withinMs: ticks * TICK_MS * 4 + world.settings.ttlMs });
  proxy?.heal();
  await Promise.all(failpoints.map((each) => each.set('')));
  fault.end();
  await Promise.all(load.map((task) => task.ended));
  const byFailpoint = failpoints.reduce((sum, { triggers }) => sum + triggers.length, 0);
  const byProxy = proxy?.counts().lostAnswers ?? 0;
  world.figure('answers lost by failpoint', byFailpoint);
  world.figure('answers lost by proxy', byProxy);
  world.expect(byFailpoint > 0 && (byProxy > 0 || !proxy), 'no answer was lost');
  await expectAllTicks(world, load, ticks);
}

/** What a commit says and other statements do not; on PostgreSQL its name, for its text is sent once per connection. */
const WRITES = {
  postgresql: 'commit_',
  mysql: 'INSERT INTO task_events',
  sqlite: '',
};
