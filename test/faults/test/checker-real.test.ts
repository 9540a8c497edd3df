import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '@a2a-cluster/testing';
import { brief } from '../src/checker/brief.js';
import { checkHistory, mergedHistory } from '../src/checker/check.js';
import { historyFigures } from '../src/checker/figures.js';
import { loadHistory, saveHistory } from '../src/history/file.js';
import type { History, StreamRecord } from '../src/history/history.js';
import { pause } from '../src/world/now.js';
import type { Replica } from '../src/world/replica.js';
import { stateOf, type Stream } from '../src/world/stream.js';
import { World } from '../src/world/world.js';

/** Everything that can be seen of a healthy cluster, and one crash. */
describe('a history of real replicas', () => {
  let database: TestDatabase;
  let world: World;
  let history: History;

  beforeAll(async () => {
    database = await createTestDatabase({ provider: 'sqlite' });
    world = await World.create({
      ...{ scenario: 'T1', provider: 'sqlite', databaseUrl: database.url },
      ...{ seed: 1, size: 'quick', minutes: 1 },
      say: () => {},
    });
    const [first, second, third] = (await world.startReplicas(3)) as [Replica, Replica, Replica];
    await Promise.all([
      conversation(world, first, second),
      cancels(first, second),
      strangers(first, second),
      crash(world, third, second),
    ]);
    first.terminate();
    await first.exited;
    await world.settled({ withinMs: 10_000 });
    await world.pushed({ withinMs: 10_000 });
    history = await world.history();
  }, 180_000);
  afterAll(async () => {
    await world.end();
    await database.drop();
  });

  /**
   * A machine that is busy with something else starves replicas, which is a fault that nobody wrote down: what takes
   * how long, and who is swept, is judged in scenarios and not here.
   */
  test('keeps every promise that has nothing to do with time', () => {
    const found = checkHistory({ ...history, databaseClockIsSteady: false });
    expect(found.filter(({ invariant }) => invariant !== 'I6')).toEqual([]);
  });

  test('is found out when any one frame or row is missing in it', () => {
    const timeless = { ...history, databaseClockIsSteady: false };
    const count = checkHistory(timeless).length;
    const missed: string[] = [];
    for (const stream of history.streams.filter(
      ({ ended, frames }) => ended?.how === 'complete' && frames.length > 1,
    )) {
      // Without its first frame a stream may be that of another call, in which nothing is missing.
      for (const frame of stream.frames.slice(1)) {
        const less = { ...stream, frames: stream.frames.filter((other) => other !== frame) };
        const streams = history.streams.map((other) => (other === stream ? less : other));
        if (checkHistory({ ...timeless, streams }).length === count) missed.push(framesOf(stream, frame));
      }
    }
    for (const row of history.tables.events) {
      const events = history.tables.events.filter((other) => other !== row);
      const found = checkHistory({ ...timeless, tables: { ...history.tables, events } });
      if (found.length === count) missed.push(`seq ${row.seq} of ${row.taskId}`);
    }
    expect(missed).toEqual([]);
  });

  test('is told in figures', () => {
    const figures = historyFigures(history);
    expect(figures).toMatchObject({ 'refused -32001': 4 });
    expect(figures['swept']).toBeGreaterThanOrEqual(2);
  });

  test('is the same after it was saved and loaded', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'a2a-test-'));
    const file = path.join(folder, 'deep', 'history.json');
    await saveHistory(file, history);
    expect(await loadHistory(file)).toEqual(history);
    await rm(folder, { recursive: true });
  });

  test('is told in lines, in order of time', () => {
    const victim = history.replicas.find(({ exit }) => exit === 'SIGKILL');
    const first = history.tables.events.find(({ holder }) => holder === victim?.holder);
    const lines = mergedHistory(history, first?.taskId ?? '');
    expect(lines).toContainEqual(expect.stringMatching(/FAULT kill r3: SIGKILL/));
    expect(lines).toContainEqual(expect.stringMatching(/event seq \d+ statusUpdate .*replica_lost/));
    const times = lines.map((line) => Number.parseInt(line, 10));
    expect(times).toEqual([...times].sort((a, b) => a - b));
  });
});

async function conversation(world: World, first: Replica, second: Replica): Promise<void> {
  const webhook = world.sink.url(randomUUID());
  const asked = first.as().stream({ text: 'tick 3 20; chunk 12 40 5; ask Which one?', webhook });
  const taskId = (await asked.taskId()) ?? '';
  const subscriber = second.as().subscribe(taskId);
  await asked.ended;
  await subscriber.ended;
  const parked = first.as().subscribe(taskId);
  await parked.find((event) => event.task !== undefined);
  const messageId = randomUUID();
  const again = { taskId, messageId, text: 'chunk 5 40 5; tick 5 20; done' };
  await second.as().stream(again).ended;
  await parked.ended;
  await first.as().stream(again).ended;
  await second.as().send(again);
  await second.as().get(taskId);
  await first.as().stream({ text: 'say hello' }).ended;
  await first.as().send({ text: 'fail of its own will' });
  await first.as().send({ text: 'auth 10; done' });
  await second.as().stream({ text: 'relapse 50' }).ended;
}

async function cancels(first: Replica, second: Replica): Promise<void> {
  const running = first.as().stream({ text: 'tick 500 20' });
  const taskId = (await running.taskId()) ?? '';
  await running.find((event) => stateOf(event) === 'TASK_STATE_WORKING');
  await second.as().cancel(taskId);
  await first.as().cancel(taskId);
  const parked = second.as().stream({ text: 'ask Which?' });
  await parked.ended;
  const waiting = second.as().subscribe((await parked.taskId()) ?? '');
  await waiting.find((event) => event.task !== undefined);
  await first.as().cancel((await parked.taskId()) ?? '');
  await waiting.ended;
  const deaf = first.as().stream({ text: 'deaf 5000' });
  await deaf.taskId();
  await second.as().cancel((await deaf.taskId()) ?? '');
}

async function strangers(first: Replica, second: Replica): Promise<void> {
  const own = first.as('bob').stream({ text: 'tick 3 20; done' });
  const taskId = (await own.taskId()) ?? '';
  await first.as('alice').get(taskId, 'not_found');
  await second.as('alice').cancel(taskId, 'not_found');
  await second.as('alice').subscribe(taskId).ended;
  await second.as('alice').stream({ taskId, text: 'done' }).ended;
  await own.ended;
}

async function crash(world: World, victim: Replica, watcher: Replica): Promise<void> {
  const load = await world.load({ tasks: 2, script: 'tick 500 20', holders: [victim], watchers: [watcher] });
  await pause(200);
  await victim.kill();
  await Promise.all(load.map(({ ended }: { readonly ended: Stream['ended'] }) => ended));
}

/** A stream in a few words, and which of its frames is meant. */
function framesOf(stream: StreamRecord, frame: StreamRecord['frames'][number]): string {
  const all = stream.frames.map(({ event }) => brief(event)).join(' | ');
  return `${stream.method}: ${all}: ${stream.frames.indexOf(frame) + 1}`;
}
