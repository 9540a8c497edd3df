import { randomUUID } from 'node:crypto';
import { limit, pause } from '../../world/now.js';
import { stateOf, type Stream } from '../../world/stream.js';
import type { World } from '../../world/world.js';
import { anyOf, type Slot } from './soak-slot.js';

/** A conversation that is not over by then is left. */
const CONVERSATION_MS = 30_000;
/** How often a follow-up is sent again while its task is busy. */
const MOST_TRIES = 5;

/** Talks to whichever replicas are up, one conversation after the other, until it is told to stop. */
export async function talk(world: World, slots: readonly Slot[], stopped: () => boolean): Promise<void> {
  while (!stopped()) await world.random.pick(CONVERSATIONS)(world, slots);
}

type Conversation = (world: World, slots: readonly Slot[]) => Promise<void>;

const CONVERSATIONS: readonly Conversation[] = [run, run, answer, cancel];

async function run(world: World, slots: readonly Slot[]): Promise<void> {
  const { random } = world;
  const ticks = `tick ${random.int(5, 60)} ${random.int(20, 80)}`;
  const chunks = `chunk ${random.int(2, 20)} ${random.int(10, 4_000)} 20`;
  const end = random.pick(['done', 'done all of it', 'fail it cannot be done', 'reject no']);
  const opened = await open(world, slots, `${random.pick([ticks, chunks])}; ${end}`);
  await over(opened);
}

async function answer(world: World, slots: readonly Slot[]): Promise<void> {
  const opened = await open(world, slots, 'tick 5 50; ask Which one?');
  const [caller] = opened;
  const asked = await caller?.find((event) => stateOf(event) === 'TASK_STATE_INPUT_REQUIRED');
  const taskId = caller?.record.taskId;
  await over(opened);
  if (!asked || !taskId) return;
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const { replica } = await anyOf(world, slots);
    const said = replica.as().stream({ text: 'tick 10 50; done', taskId });
    await over([said]);
    if (said.record.ended?.error?.reason !== 'TASK_BUSY') return;
    await pause(200);
  }
}

async function cancel(world: World, slots: readonly Slot[]): Promise<void> {
  const opened = await open(world, slots, 'tick 200 50; done');
  await pause(world.random.int(0, 1_000));
  const taskId = opened[0]?.record.taskId;
  if (taskId) await (await anyOf(world, slots)).replica.as().cancel(taskId);
  await over(opened);
}

/** The stream of a send, and a subscription elsewhere; every second task has a webhook. */
async function open(world: World, slots: readonly Slot[], text: string): Promise<Stream[]> {
  const { replica } = await anyOf(world, slots);
  const webhook = world.random.chance(0.5) ? { webhook: world.sink.url(randomUUID()) } : {};
  const caller = replica.as().stream({ text, ...webhook });
  const taskId = await Promise.race([caller.taskId(), limit(CONVERSATION_MS)]);
  if (!taskId) return [caller];
  const watcher = await anyOf(world, slots);
  return [caller, watcher.replica.as().subscribe(taskId)];
}

/** Resolves when all have ended; who waits too long goes away. */
async function over(streams: readonly Stream[]): Promise<void> {
  await Promise.race([Promise.all(streams.map(({ ended }) => ended)), limit(CONVERSATION_MS)]);
  for (const stream of streams) if (stream.record.ended === null) stream.leave();
}
