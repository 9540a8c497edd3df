import type { Scenario } from '../scenario.js';
import type { LoadTask } from '../world/load.js';
import { nowMs } from '../world/now.js';
import type { Replica } from '../world/replica.js';
import type { World } from '../world/world.js';
import { exitOf, keepsLeases } from './support/draining.js';
import { startBehindProxy } from './support/proxies.js';

/** What the turns of the replica that drains do, and how each must end. */
const TURNS = [
  { script: 'tick 20 50; done', state: 'TASK_STATE_COMPLETED', reason: null },
  { script: 'tick 4000 50', state: 'TASK_STATE_FAILED', reason: 'shutdown' },
  { script: 'tick 1 50; deaf 60000', state: 'TASK_STATE_FAILED', reason: 'shutdown' },
  { script: 'zombie 400 25; tick 4000 50', state: 'TASK_STATE_FAILED', reason: 'shutdown' },
  { script: 'ask Which one?', state: 'TASK_STATE_INPUT_REQUIRED', reason: null },
];

/** SIGTERM while turns run, and SIGTERM for a replica that has lost its database. */
export const terminate: Scenario = {
  id: 'R13',
  title: 'SIGTERM while turns run, with a database and without',
  databases: ['postgresql', 'mysql', 'sqlite'],
  quick: true,
  async run(world) {
    const [leaving, watcher] = await world.startReplicas(2);
    if (leaving === undefined || watcher === undefined) return;
    await Promise.all([drains(world, { leaving, watcher }), drainsWithoutDatabase(world, watcher)]);
    await world.settled({ withinMs: world.settings.ttlMs + 1_000 });
  },
};

interface Leaving {
  readonly leaving: Replica;
  readonly watcher: Replica;
}

async function drains(world: World, { leaving, watcher }: Leaving): Promise<void> {
  const load = await world.load({
    tasks: TURNS.length * (world.quick ? 2 : 4),
    script: (index) => TURNS[index % TURNS.length]?.script ?? '',
    holders: [leaving],
    watchers: [watcher],
  });
  const beganAtMs = nowMs();
  leaving.terminate();
  const refused = await leaving.as().send({ text: 'done' });
  world.expect(
    refused.error?.reason === 'REPLICA_DRAINING',
    `a new turn is answered ${JSON.stringify(refused)}`,
  );
  const long = load.filter((_task, index) => TURNS[index % TURNS.length]?.reason === 'shutdown');
  await keepsLeases(world, { leaving, taskIds: long.map(({ taskId }) => taskId) });
  const code = await exitOf(world, leaving, beganAtMs);
  world.figure('exit after ms', nowMs() - beganAtMs);
  world.expect(code === 0, `it ended with ${code}, not 0`);
  await expectEnds(world, load);
}

async function expectEnds(world: World, load: readonly LoadTask[]): Promise<void> {
  const { tasks, events } = await world.database.read(await world.database.aheadMs());
  for (const [index, { taskId }] of load.entries()) {
    const turn = TURNS[index % TURNS.length];
    const state = tasks.find((row) => row.taskId === taskId)?.state;
    world.expect(state === turn?.state, `\`${turn?.script}\` ended ${state}, not ${turn?.state}`, taskId);
    const last = events.findLast((row) => row.taskId === taskId);
    const says = turn?.reason == null || last?.payload.includes(`"reason":"${turn.reason}"`);
    world.expect(says === true, `its end does not say ${turn?.reason}: ${last?.payload}`, taskId);
  }
}

/** It cannot write anything any more, and leaves all the same; the others end its turns. */
async function drainsWithoutDatabase(world: World, watcher: Replica): Promise<void> {
  // A file has no way to it that could be cut.
  if (world.provider === 'sqlite') return;
  const { replica, proxy } = await startBehindProxy(world, { name: 'cut-off' });
  await world.load({ tasks: 3, script: 'tick 4000 50', holders: [replica], watchers: [watcher] });
  const cut = replica.fault('cut_off', 'its database swallows everything');
  proxy.blackhole('both');
  const beganAtMs = nowMs();
  replica.terminate();
  const code = await exitOf(world, replica, beganAtMs);
  cut.end();
  world.figure('exit without database after ms', nowMs() - beganAtMs);
  world.expect(code === 0, `without its database it ended with ${code}, not 0`);
}
