import type { Scenario } from '../scenario.js';
import { nowMs } from '../world/now.js';
import type { Replica } from '../world/replica.js';
import { stateOf, type Stream } from '../world/stream.js';
import type { World } from '../world/world.js';
import { exitOf, keepsLeases } from './support/draining.js';
import { allEnded } from './support/ended.js';

/** Tasks of each kind, and the streams of each at the replica that leaves: 100 in all. */
const RUNNING = { tasks: 10, streams: 4 };
const PARKED = { tasks: 10, streams: 3 };
const FOREIGN = { tasks: 10, streams: 3 };
/** Running ones: every so many ends by itself while the replica drains; the others are ended. */
const SHORT_EVERY = 5;
/** Says so much that who does not read it is far behind: more than sockets and buffers hold. */
const TALKER = 'replace 400 32768 20';
/** Of the other streams of running turns, so many read nothing from the signal to the end. */
const STALLED = 10;
/** What the streams of a replica that is gone may take to end. */
const ENDED_MS = 2_000;

/** SIGTERM for a replica with 100 open streams: of turns that it runs, of parked tasks, of turns of another. */
export const terminateStreams: Scenario = {
  id: 'R13b',
  title: 'SIGTERM with 100 open streams, some of which nobody reads',
  databases: ['postgresql', 'mysql', 'sqlite'],
  async run(world) {
    const [leaving, staying] = await world.startReplicas(2);
    if (leaving === undefined || staying === undefined) return;
    const tasks = await startTasks({ leaving, staying });
    const streams = await openStreams(leaving, tasks);
    world.figure('streams', streams.all.length);
    await leave(world, { leaving, tasks, streams });
    await goesOn(world, staying, tasks.foreign);
    await Promise.all(tasks.foreign.map((taskId) => staying.as().cancel(taskId)));
    await world.settled({ withinMs: world.settings.cancelGraceMs + world.settings.ttlMs });
  },
};

interface Tasks {
  /** With the streams of their sends. */
  readonly running: readonly { readonly taskId: string; readonly caller: Stream; readonly short: boolean }[];
  readonly parked: readonly string[];
  /** Run by the replica that stays. */
  readonly foreign: readonly string[];
}

async function startTasks(replicas: {
  readonly leaving: Replica;
  readonly staying: Replica;
}): Promise<Tasks> {
  const { leaving, staying } = replicas;
  const start = async (replica: Replica, text: string): Promise<{ taskId: string; caller: Stream }> => {
    const caller = replica.as().stream({ text });
    return { taskId: (await caller.taskId()) ?? '', caller };
  };
  const several = <T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: count }, (_, index) => make(index)));
  const parked = await several(PARKED.tasks, () => start(leaving, 'ask Which one?'));
  await Promise.all(parked.map(({ caller }) => caller.ended));
  const foreign = await several(FOREIGN.tasks, () => start(staying, 'tick 4000 250'));
  const running = await several(RUNNING.tasks, async (index) => {
    const short = index % SHORT_EVERY === 0;
    const long = index === RUNNING.tasks - 1 ? TALKER : 'tick 4000 250';
    return { ...(await start(leaving, short ? 'tick 12 250; done' : long)), short };
  });
  return {
    running,
    parked: parked.map(({ taskId }) => taskId),
    foreign: foreign.map(({ taskId }) => taskId),
  };
}

interface Streams {
  readonly all: readonly Stream[];
  readonly stalled: readonly Stream[];
  /** Those of them that are far behind. */
  readonly behind: readonly Stream[];
}

/** Opens them at the replica that leaves, and waits until each has said something. */
async function openStreams(leaving: Replica, tasks: Tasks): Promise<Streams> {
  const of = (taskIds: readonly string[], each: number): Stream[] =>
    taskIds.flatMap((taskId) => Array.from({ length: each }, () => leaving.as().subscribe(taskId)));
  const watching = of(
    tasks.running.map(({ taskId }) => taskId),
    RUNNING.streams - 1,
  );
  const quiet = [...of(tasks.parked, PARKED.streams), ...of(tasks.foreign, FOREIGN.streams)];
  const all = [...tasks.running.map(({ caller }) => caller), ...watching, ...quiet];
  await Promise.all(all.map((stream) => stream.find((event) => stateOf(event) !== undefined)));
  const behind = watching.slice(1 - RUNNING.streams);
  return { all, stalled: [...watching.slice(0, STALLED), ...behind], behind };
}

async function leave(
  world: World,
  of: { readonly leaving: Replica; readonly tasks: Tasks; readonly streams: Streams },
): Promise<void> {
  const { leaving, tasks, streams } = of;
  const fault = world.fault(
    'client',
    `read nothing: ${streams.stalled.map(({ record }) => record.id).join()}`,
  );
  for (const stream of streams.stalled) stream.stall();
  const beganAtMs = nowMs();
  leaving.terminate();
  const long = tasks.running.filter(({ short }) => !short).map(({ taskId }) => taskId);
  await keepsLeases(world, { leaving, taskIds: long });
  const code = await exitOf(world, leaving, beganAtMs);
  world.figure('exit after ms', nowMs() - beganAtMs);
  world.expect(code === 0, `it ended with ${code}, not 0`);
  for (const stream of streams.stalled) stream.resume();
  // Who does not read cannot be told: its connection is cut, and that is an end as well.
  await allEnded(world, { streams: streams.all, turnMs: ENDED_MS });
  fault.end();
  for (const stream of streams.all) if (!streams.behind.includes(stream)) expectEnd(world, stream);
  await expectStates(world, tasks);
}

/** A clean end of the answer, whatever was its last event: a client that goes on elsewhere has not been told wrong. */
function expectEnd(world: World, { record }: Stream): void {
  const { ended, taskId, id } = record;
  const told = `stream ${id} was ${ended?.how} (${ended?.detail ?? ended?.error?.message ?? ''})`;
  const refused = ended?.how === 'error' && ended.error?.reason === 'REPLICA_DRAINING';
  world.expect(ended?.how === 'complete' || refused, told, taskId ?? undefined);
}

async function expectStates(world: World, tasks: Tasks): Promise<void> {
  const { tasks: rows } = await world.database.read(await world.database.aheadMs());
  const expectState = (taskId: string, state: string): void => {
    const row = rows.find((each) => each.taskId === taskId);
    world.expect(row?.state === state, `it is ${row?.state}, not ${state}`, taskId);
  };
  for (const { taskId, short } of tasks.running)
    expectState(taskId, short ? 'TASK_STATE_COMPLETED' : 'TASK_STATE_FAILED');
  for (const taskId of tasks.parked) expectState(taskId, 'TASK_STATE_INPUT_REQUIRED');
  for (const taskId of tasks.foreign) expectState(taskId, 'TASK_STATE_WORKING');
}

/** Clients of a task that another replica runs subscribe there, and hear more. */
async function goesOn(world: World, staying: Replica, taskIds: readonly string[]): Promise<void> {
  const heard = await Promise.all(
    taskIds.map(async (taskId) => {
      const stream = staying.as().subscribe(taskId);
      const event = await stream.find(({ statusUpdate }) => statusUpdate !== undefined);
      stream.leave();
      return event !== undefined;
    }),
  );
  world.expect(
    heard.every((more) => more),
    'a task of the other replica did not go on for its clients',
  );
}
