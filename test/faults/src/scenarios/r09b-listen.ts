import type { Scenario } from '../scenario.js';
import type { TcpProxy } from '../tools/tcp-proxy.js';
import { pause } from '../world/now.js';
import type { Replica } from '../world/replica.js';
import type { Stream } from '../world/stream.js';
import type { World } from '../world/world.js';
import { largest, percentile } from './support/numbers.js';
import { expectAllTicks } from './support/outcome.js';
import { startBehindProxy, type BehindProxy } from './support/proxies.js';
import { until } from './support/until.js';

const TASKS = 5;
const TICK_MS = 100;
const OUTAGE_MS = 4_000;
/** A loss must be noticed, and a connection that can be had again be had, within this time. */
const NOTICED_MS = 15_000;
/** The interval behind LISTEN, and what a busy machine adds. */
const MOST_LAG_MS = 1_000 + 1_000;

const MODES: readonly { readonly name: string; apply(proxy: TcpProxy): void }[] = [
  { name: 'closed', apply: (proxy) => proxy.shut('listen') },
  { name: 'blackholed', apply: (proxy) => proxy.blackhole('both', 'listen') },
  { name: 'deaf', apply: (proxy) => proxy.blackhole('toClient', 'listen') },
];

/**
 * Only the connection by which hints arrive is lost, everything else goes on. PostgreSQL alone has one: the others
 * ask at an interval all the time.
 */
export const listenLost: Scenario = {
  id: 'R9b',
  title: 'a replica loses its LISTEN connection and nothing else',
  databases: ['postgresql'],
  async run(world) {
    const holder = await world.startReplica({ name: 'holder' });
    const deaf = await startBehindProxy(world, { name: 'deaf' });
    for (const mode of MODES) await loseHints(world, { mode, holder, deaf });
  },
};

interface Loss {
  readonly mode: (typeof MODES)[number];
  readonly holder: Replica;
  readonly deaf: BehindProxy;
}

async function loseHints(world: World, { mode, holder, deaf }: Loss): Promise<void> {
  const { replica, proxy } = deaf;
  await until(() => isListening(replica), { withinMs: NOTICED_MS });
  const ticks = (2 * OUTAGE_MS) / TICK_MS;
  const script = `tick ${ticks} ${TICK_MS}`;
  const load = await world.load({ tasks: TASKS, script, holders: [holder], watchers: [replica] });
  const fault = replica.fault('hints', mode.name);
  mode.apply(proxy);
  const noticedMs = await until(async () => !(await isListening(replica)), { withinMs: NOTICED_MS });
  world.figure(`${mode.name}: noticed after ms`, noticedMs ?? -1);
  world.expect(noticedMs !== null, `${mode.name}: the loss was not noticed within ${NOTICED_MS} ms`);
  const health = await replica.health();
  world.expect(health?.ready === true, `${mode.name}: a replica without hints says it is not ready`);
  await pause(OUTAGE_MS);
  await Promise.all(load.map((task) => task.ended));
  const lags = load.flatMap((task) => lagsOf(task.caller, task.subscriber));
  world.figure(`${mode.name}: lag ms p50`, percentile(lags, 0.5));
  world.figure(`${mode.name}: lag ms max`, largest(lags));
  world.expect(percentile(lags, 0.95) <= MOST_LAG_MS, `${mode.name}: events are late without hints`);
  proxy.heal();
  fault.end();
  const backMs = await until(() => isListening(replica), { withinMs: NOTICED_MS });
  world.figure(`${mode.name}: hints back after ms`, backMs ?? -1);
  world.expect(backMs !== null, `${mode.name}: no hints again ${NOTICED_MS} ms after it`);
  await world.settled({ withinMs: world.settings.ttlMs });
  await expectAllTicks(world, load, ticks);
}

async function isListening(replica: Replica): Promise<boolean> {
  const health = await replica.health();
  return (health?.['stream'] as { readonly listening?: boolean } | undefined)?.listening === true;
}

/** How much later each tick came to the subscriber than to the caller. */
function lagsOf(caller: Stream, subscriber: Stream): number[] {
  const seenAt = new Map(ticksOf(caller));
  return ticksOf(subscriber).flatMap(([text, atMs]) => {
    const first = seenAt.get(text);
    return first === undefined ? [] : [atMs - first];
  });
}

function ticksOf(stream: Stream): [text: string, atMs: number][] {
  return stream.record.frames.flatMap(({ atMs, event }): [string, number][] => {
    const text = event.statusUpdate?.status.message?.parts[0]?.text;
    return text?.startsWith('tick ') ? [[text, atMs]] : [];
  });
}
