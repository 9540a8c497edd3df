import type { FaultKind } from '../history/history.js';
import type { Scenario } from '../scenario.js';
import type { TcpProxy } from '../tools/tcp-proxy.js';
import type { LoadTask } from '../world/load.js';
import { nowMs, pause } from '../world/now.js';
import type { Replica } from '../world/replica.js';
import type { World } from '../world/world.js';
import { allEnded } from './support/ended.js';
import { largest } from './support/numbers.js';
import { startBehindProxy, type BehindProxy } from './support/proxies.js';
import { expectAllTicks } from './support/outcome.js';
import { toldAfterMs } from './support/signals.js';
import { until } from './support/until.js';

/** A way to lose the database. */
interface Mode {
  readonly name: string;
  /** Turns cannot outlive it. */
  readonly fatal: boolean;
  /** Default: the replica is cut off. */
  readonly kind?: FaultKind;
  apply(proxy: TcpProxy, world: World): void;
}

const LATENCY_MS = 2_000;
const RESET_SHARE = 0.01;
const TASKS_EACH = 4;
const TICK_MS = 100;
/** How much later than its deadline a signal may be seen by the harness. */
const SLACK_MS = 750;

const CLOSED: Mode = { name: 'closed', fatal: true, apply: (proxy) => proxy.shut() };
const BLACKHOLED: Mode = { name: 'blackholed', fatal: true, apply: (proxy) => proxy.blackhole('both') };
const UNHEARD: Mode = { name: 'unheard', fatal: true, apply: (proxy) => proxy.blackhole('toServer') };
const DEAF: Mode = { name: 'deaf', fatal: true, apply: (proxy) => proxy.blackhole('toClient') };

/** Cuts that are over before a lease is in danger. */
const SHORT: readonly (readonly Mode[])[] = [[CLOSED, BLACKHOLED, UNHEARD], [DEAF]].map((modes) =>
  modes.map((mode) => ({ ...mode, name: `shortly ${mode.name}`, fatal: false })),
);
/** The share of S that they last. */
const SHORT_SHARE = 0.8;

const LONG: readonly (readonly Mode[])[] = [
  [CLOSED, BLACKHOLED, UNHEARD],
  [
    DEAF,
    { name: 'slow', fatal: true, apply: (proxy) => proxy.delay(LATENCY_MS) },
    {
      name: 'flaky',
      fatal: false,
      kind: 'connections',
      apply: (proxy, { random }) => proxy.resetShare(RESET_SHARE, () => random.next()),
    },
  ],
];

/**
 * The way of one replica to its database is cut in six ways, while another replica goes on: for less than S, which
 * must cost no turn, and for longer than a lease lives. SQLite is a file: there is no way to be cut.
 */
export const partition: Scenario = {
  id: 'R9',
  title: 'a replica loses its database, in six ways, shortly and for long',
  databases: ['postgresql', 'mysql'],
  async run(world) {
    const witness = await world.startReplica({ name: 'witness' });
    const cut = await Promise.all(['a', 'b', 'c'].map((name) => startBehindProxy(world, { name })));
    const { ttlMs, survivableMs } = world.settings;
    const rounds = [
      ...SHORT.map((modes) => ({ modes, lengthMs: Math.round(SHORT_SHARE * survivableMs) })),
      ...LONG.map((modes) => ({ modes, lengthMs: 1.5 * ttlMs })),
    ];
    for (const { modes, lengthMs } of rounds)
      await Promise.all(
        cut.map((way, index) => {
          const mode = modes[index];
          return mode ? cutOff(world, { mode, way, witness, lengthMs }) : undefined;
        }),
      );
  },
};

interface Cut {
  readonly mode: Mode;
  readonly way: BehindProxy;
  readonly witness: Replica;
  readonly lengthMs: number;
}

async function cutOff(world: World, cut: Cut): Promise<void> {
  const { mode, way, witness, lengthMs } = cut;
  const { replica, proxy } = way;
  const { ttlMs } = world.settings;
  // One that a turn outlives is outlived by its agent as well: what is published meanwhile is stored after it.
  const ticks = Math.floor((mode.fatal ? 3 * lengthMs : lengthMs + ttlMs) / TICK_MS);
  const script = `tick ${ticks} ${TICK_MS}`;
  const load = await world.load({ tasks: TASKS_EACH, script, holders: [replica], watchers: [witness] });
  const fault = replica.fault(mode.kind ?? 'cut_off', mode.name);
  const beganAtMs = nowMs();
  mode.apply(proxy, world);
  const notReady = until(async () => (await replica.health())?.ready === false, { withinMs: lengthMs });
  await pause(lengthMs);
  proxy.heal();
  fault.end();
  const backMs = await until(async () => (await replica.health())?.ready === true, { withinMs: 2 * ttlMs });
  world.expect(backMs !== null, `${mode.name}: not ready again ${2 * ttlMs} ms after the cut`);
  world.figure(`${mode.name}: ready again after ms`, backMs ?? -1);
  const ends = await Promise.all(load.map((task) => task.ended));
  // Before the next cut: it would begin while the replica is still making up for this one.
  await allEnded(world, { streams: load.map(({ caller }) => caller), turnMs: lengthMs });
  world.expect(
    ends.every(({ how }) => how === 'complete'),
    `${mode.name}: a subscription elsewhere did not end with its task`,
  );
  if (mode.fatal) {
    world.expect((await notReady) !== null, `${mode.name}: it said it was ready all the time`);
    world.figure(`${mode.name}: not ready after ms`, (await notReady) ?? -1);
    judgeSignals(world, { cut, load, beganAtMs });
  } else {
    await world.settled({ withinMs: lengthMs + ttlMs });
    world.figure(`${mode.name}: connections reset`, proxy.counts().cuts);
    await expectAllTicks(world, load, ticks);
  }
  const again = await replica.as().send({ text: 'tick 2 20' });
  const state = again.task?.status.state;
  world.expect(state === 'TASK_STATE_COMPLETED', `${mode.name}: a turn afterwards is ${state ?? 'refused'}`);
}

/** Every turn was told by the holder's own deadline. */
function judgeSignals(
  world: World,
  seen: { readonly cut: Cut; readonly load: readonly LoadTask[]; readonly beganAtMs: number },
): void {
  const { cut, load, beganAtMs } = seen;
  const { ttlMs, marginMs } = world.settings;
  const told = toldAfterMs(load, beganAtMs);
  const late = told.filter((ms) => ms > ttlMs - marginMs + SLACK_MS).length;
  world.expect(late === 0, `${cut.mode.name}: ${late} agents were told after the deadline of their lease`);
  world.figure(`${cut.mode.name}: agents told after ms`, largest(told));
}
