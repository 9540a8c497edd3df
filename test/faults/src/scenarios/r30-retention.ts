import type { Scenario } from '../scenario.js';
import { nowMs, pause } from '../world/now.js';
import type { Replica } from '../world/replica.js';
import type { Stream } from '../world/stream.js';
import type { World } from '../world/world.js';
import { allEnded } from './support/ended.js';
import { until } from './support/until.js';

/** How soon after their end tasks lose their events: passes come four times as often. */
const RETENTION_MS = 400;
const CHUNK_BYTES = 64 * 1024;
/** Of one log, in chunks: more than the sockets and buffers of a reader that stands still hold. */
const CHUNKS = { quick: 96, full: 320 };
/** A log is gone within so much of its task's end. */
const PRUNED_WITHIN_MS = 10_000;
/** How long webhooks refuse everything: longer than the logs of their tasks would be kept without them. */
const REFUSING_MS = 1_500;
/** What reading the rest takes. */
const CAUGHT_UP_MS = 20_000;

/**
 * Logs are pruned as soon as tasks end. Who pages through a log slowly loses it, and is told so by the whole
 * task in place of the rest; who reads as it comes misses nothing; what a webhook waits for is kept.
 */
export const retention: Scenario = {
  id: 'R30',
  title: 'logs are pruned while slow clients page through them',
  databases: ['postgresql', 'mysql', 'sqlite'],
  quick: true,
  async run(world) {
    await world.pruneAfter(RETENTION_MS);
    const replicas = await world.startReplicas(3);
    await Promise.all([behind(world, replicas), loaded(world, replicas)]);
    await world.settled({ withinMs: world.settings.ttlMs });
    await prunedAll(world);
    const counts = await world.database.number('SELECT count(*) FROM pruned_events');
    world.figure('events pruned', counts);
  },
};

/** Clients that stop reading, and some that read a frame now and then, of tasks that end and are pruned meanwhile. */
async function behind(world: World, replicas: readonly Replica[]): Promise<void> {
  const [holder, ...others] = replicas;
  if (holder === undefined) return;
  const script = `replace ${world.quick ? CHUNKS.quick : CHUNKS.full} ${CHUNK_BYTES} 5`;
  const callers = Array.from({ length: world.quick ? 1 : 3 }, () => holder.as().stream({ text: script }));
  for (const caller of callers) {
    const taskId = (await caller.taskId()) ?? '';
    const streams = [caller, ...others.map((replica) => replica.as().subscribe(taskId))];
    const fault = world.fault('client', `reads nothing for a while: ${taskId}`);
    const stops = streams.map((stream, index) => slowDown(stream, index));
    const gone = await until(() => isPruned(world, taskId), { withinMs: CAUGHT_UP_MS + PRUNED_WITHIN_MS });
    world.expect(gone !== null, 'its log was not pruned', taskId);
    for (const stop of stops) stop();
    await allEnded(world, { streams, turnMs: CAUGHT_UP_MS });
    fault.end();
    const resets = streams.filter((stream) => wasReset(stream)).length;
    world.figure('streams reset', resets);
    world.expect(resets > 0, 'no stream was far enough behind to be reset', taskId);
  }
}

/** Reads nothing, or a frame now and then; the function it gives lets all the rest through. */
function slowDown(stream: Stream, index: number): () => void {
  stream.stall();
  if (index % 2 === 0) return () => stream.resume();
  const timer = setInterval(() => {
    stream.resume();
    stream.stall();
  }, 20);
  return () => {
    clearInterval(timer);
    stream.resume();
  };
}

/** Tasks that are followed as they come, each with a webhook that refuses everything at first. */
async function loaded(world: World, replicas: readonly Replica[]): Promise<void> {
  const refusesUntilMs = nowMs() + REFUSING_MS;
  world.sink.answerWith(() => ({ status: nowMs() < refusesUntilMs ? 503 : 200 }));
  for (let round = 0; round < (world.quick ? 2 : 10); round += 1) {
    const load = await world.load({ tasks: 9, script: 'tick 8 20; done', holders: replicas });
    await allEnded(world, { streams: load.map(({ subscriber }) => subscriber), turnMs: CAUGHT_UP_MS });
    await pause(RETENTION_MS);
  }
}

async function prunedAll(world: World): Promise<void> {
  await world.pushed({ withinMs: CAUGHT_UP_MS });
  const left = async (): Promise<boolean> =>
    (await world.database.number('SELECT count(*) FROM task_events')) === 0;
  const ms = await until(left, { withinMs: PRUNED_WITHIN_MS });
  world.expect(ms !== null, `logs of ended tasks were still there ${PRUNED_WITHIN_MS} ms later`);
}

async function isPruned(world: World, taskId: string): Promise<boolean> {
  const count = (table: string): Promise<number> =>
    world.database.number(`SELECT count(*) FROM ${table} WHERE task_id = '${taskId}'`);
  return (await count('pruned_events')) > 0 && (await count('task_events')) === 0;
}

function wasReset({ record }: Stream): boolean {
  const metadata = record.frames.at(-1)?.event.task?.metadata;
  return (metadata?.['a2a-cluster'] as { readonly reset?: string } | undefined)?.reset === 'pruned';
}
