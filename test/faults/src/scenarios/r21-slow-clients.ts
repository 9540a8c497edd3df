import type { Scenario } from '../scenario.js';
import { residentBytes } from '../tools/processes.js';
import { startTcpProxy, type TcpProxy } from '../tools/tcp-proxy.js';
import { nowMs, pause } from '../world/now.js';
import type { Replica } from '../world/replica.js';
import { stateOf, type Stream } from '../world/stream.js';
import type { World } from '../world/world.js';
import { allEnded } from './support/ended.js';
import { largest } from './support/numbers.js';
import { until } from './support/until.js';

const CLIENTS = 8;
const MIB = 1024 * 1024;
/** What a slow client is behind in the end: far more than the machine's sockets hold. */
const BEHIND_MIB = 24;
const CHUNK_BYTES = 64 * 1024;
/** A frame of {@link CHUNK_BYTES} in that time is 1 kB/s. */
const FRAME_EVERY_MS = 64_000;
/** What {@link CLIENTS} streams may cost: a frame each, the shared window, a page each, and what is not collected. */
const MORE_MIB = 100;
/** What reading the rest takes. */
const CAUGHT_UP_MS = 30_000;
/** A closed connection is noticed at once. */
const NOTICED_MS = 2_000;

/**
 * Clients that read 1 kB/s cost a replica next to nothing and miss nothing; those that go away are forgotten. Who
 * vanishes without a FIN is not noticed before the operating system gives up: streams carry no keepalive yet.
 */
export const slowClients: Scenario = {
  id: 'R21',
  title: 'clients read 1 kB/s, go away, and vanish without a word',
  databases: ['postgresql', 'mysql', 'sqlite'],
  async run(world) {
    const [holder, watcher] = await world.startReplicas(2);
    if (holder === undefined || watcher === undefined) return;
    await slow(world, { holder, watcher });
    await gone(world, { holder, watcher });
  },
};

interface Pair {
  readonly holder: Replica;
  readonly watcher: Replica;
}

async function slow(world: World, { holder, watcher }: Pair): Promise<void> {
  const chunks = (BEHIND_MIB * MIB) / CHUNK_BYTES;
  const caller = holder.as().stream({ text: `sleep 1000; chunk ${chunks} ${CHUNK_BYTES} 20; done` });
  const taskId = (await caller.taskId()) ?? '';
  const readers = Array.from({ length: CLIENTS }, () => watcher.as().subscribe(taskId));
  await Promise.all(readers.map((reader) => reader.find(() => true)));
  const fault = world.fault('client', `1 kB/s: ${readers.map(({ record }) => record.id).join()}`);
  const before = residentBytes(watcher.pid) ?? 0;
  const trickles = readers.map((reader) => trickle(reader));
  const sizes: number[] = [];
  const timer = setInterval(() => sizes.push(residentBytes(watcher.pid) ?? 0), 200);
  await caller.ended;
  clearInterval(timer);
  const moreMib = (largest(sizes) - before) / MIB;
  world.figure('slow clients', CLIENTS);
  world.figure('behind MiB each', BEHIND_MIB);
  world.figure('replica grew MiB', moreMib);
  world.expect(
    moreMib < MORE_MIB,
    `${CLIENTS} slow clients cost ${Math.round(moreMib)} MiB, more than ${MORE_MIB}`,
  );
  for (const stop of trickles) stop();
  const ends = await allEnded(world, { streams: readers, turnMs: CAUGHT_UP_MS });
  fault.end();
  world.expect(
    ends.every(({ how }) => how === 'complete' || how === 'error'),
    'a slow client was neither given everything nor told that it was not',
  );
  world.figure('slow clients that got everything', ends.filter(({ how }) => how === 'complete').length);
}

/** Lets one frame through now and then; the function it gives lets all the rest through. */
function trickle(stream: Stream): () => void {
  stream.stall();
  const timer = setInterval(() => {
    stream.resume();
    stream.stall();
  }, FRAME_EVERY_MS);
  return () => {
    clearInterval(timer);
    stream.resume();
  };
}

/** Clients of a task that says nothing: some close their connection, some vanish. */
async function gone(world: World, { holder, watcher }: Pair): Promise<void> {
  const way = await startTcpProxy({ host: '127.0.0.1', port: watcher.port });
  world.atEnd(() => way.stop());
  const caller = holder.as().stream({ text: 'tick 1 10; sleep 600000' });
  const taskId = (await caller.taskId()) ?? '';
  const before = (await tailsOf(watcher)) ?? 0;
  const client = world.clientBy({ base: `http://127.0.0.1:${way.port}`, name: 'way' });
  const leaving = Array.from({ length: CLIENTS }, () => watcher.as().subscribe(taskId));
  const vanishing = Array.from({ length: CLIENTS }, () => client.subscribe(taskId));
  await Promise.all(
    [...leaving, ...vanishing].map((stream) => stream.find((event) => stateOf(event) !== undefined)),
  );
  const fault = world.recorder.fault({
    kind: 'connections',
    replica: 'way',
    detail: `vanish: ${vanishing.map(({ record }) => record.id).join()}`,
  });
  way.blackhole('both');
  for (const stream of leaving) stream.leave();
  const ms = await until(async () => (await tailsOf(watcher)) === before + CLIENTS, { withinMs: NOTICED_MS });
  world.expect(ms !== null, `closed connections were not noticed within ${NOTICED_MS} ms`);
  world.figure('closed connections noticed after ms', ms ?? -1);
  await vanished(world, { watcher, way, before });
  fault.end();
  await holder.as().cancel(taskId);
  await caller.ended;
  await world.settled({ withinMs: world.settings.cancelGraceMs + 1_000 });
}

interface Vanished {
  readonly watcher: Replica;
  readonly way: TcpProxy;
  /** Tails there were without those who vanished. */
  readonly before: number;
}

/** Without a keepalive nothing is written to them, so nothing fails: they stay until the connection is given up. */
async function vanished(world: World, { watcher, way, before }: Vanished): Promise<void> {
  const beganAtMs = nowMs();
  await pause(world.settings.ttlMs);
  const kept = ((await tailsOf(watcher)) ?? before) - before;
  world.figure(`vanished clients kept after ${Math.round(nowMs() - beganAtMs)} ms`, kept);
  way.reset();
  const ms = await until(async () => (await tailsOf(watcher)) === before, { withinMs: NOTICED_MS });
  world.expect(ms !== null, 'tails of clients whose connections were given up are still open');
}

/** Streams that are open at a replica, as it says itself; null when it says nothing. */
async function tailsOf(replica: Replica): Promise<number | null> {
  const health = await replica.health();
  const stream = health?.['stream'] as { readonly tails?: number } | undefined;
  return stream?.tails ?? null;
}
