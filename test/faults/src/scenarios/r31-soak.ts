import { checkHistory } from '../checker/check.js';
import { historyFigures } from '../checker/figures.js';
import type { Scenario } from '../scenario.js';
import { nowMs, pause } from '../world/now.js';
import type { World } from '../world/world.js';
import { SOAK_FAULTS, type Strike } from './support/soak-faults.js';
import { talk } from './support/soak-load.js';
import { Slot } from './support/soak-slot.js';

const MINUTE_MS = 60_000;
/** So much is judged at once and then forgotten: 20 minutes of everything would not fit into memory. */
const CHUNK_MS = 45_000;
const REPLICAS = 3;
/** What was committed by a sender that died is looked for after a quarter of the time since. */
const PUSHED_WITHIN_MS = 30_000;
/** Between the end of a fault and the next one. */
const MOST_PEACE_MS = 4_000;

/** Everything at random, for as long as is wished: mixed load, and one fault after the other. */
export const soak: Scenario = {
  id: 'R31',
  title: 'mixed load and random faults, for minutes',
  databases: ['postgresql', 'mysql', 'sqlite'],
  onlyByName: true,
  async run(world) {
    const slots = await Promise.all(
      Array.from({ length: REPLICAS }, (_, index) => Slot.open(world, { mayEnd: index > 0 })),
    );
    const endAtMs = nowMs() + world.options.minutes * MINUTE_MS;
    const totals: Record<string, number> = {};
    for (let chunk = 1; nowMs() < endAtMs; chunk += 1) {
      const began = { faults: world.recorder.faults.length };
      await stress(world, { slots, forMs: Math.min(CHUNK_MS, endAtMs - nowMs()), totals });
      await world.settled({ withinMs: 2 * world.settings.ttlMs + 1_000 });
      await world.pushed({ withinMs: PUSHED_WITHIN_MS });
      const history = await world.history();
      const violations = checkHistory(history);
      add(totals, historyFigures(history));
      world.say(
        `chunk ${chunk}: ${world.recorder.faults.length - began.faults} faults, ${violations.length} violations`,
      );
      // What was seen stays as it is and is judged once more when the scenario is over.
      if (violations.length > 0 || world.violations.length > 0) break;
      await forget(world);
    }
    for (const [name, value] of Object.entries(totals)) world.figure(name, value);
  },
};

interface Chunk {
  readonly slots: readonly Slot[];
  readonly forMs: number;
  readonly totals: Record<string, number>;
}

/** Load and faults for a while; resolves when both are over. */
async function stress(world: World, { slots, forMs, totals }: Chunk): Promise<void> {
  const endAtMs = nowMs() + forMs;
  const stopped = (): boolean => nowMs() >= endAtMs;
  const talkers = Array.from({ length: world.provider === 'sqlite' ? 4 : 8 }, () =>
    talk(world, slots, stopped),
  );
  while (!stopped()) {
    await pause(world.random.int(0, MOST_PEACE_MS));
    const strike: Strike = { world, slots, slot: world.random.pick(slots) };
    const fault = world.random.pick(SOAK_FAULTS.filter((each) => each.fits(strike)));
    add(totals, { [`fault: ${fault.name}`]: 1 });
    await fault.strike(strike);
  }
  await Promise.all(talkers);
}

function add(totals: Record<string, number>, more: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(more))
    totals[name] =
      name.includes('max') || name.includes('p50')
        ? Math.max(totals[name] ?? 0, value)
        : (totals[name] ?? 0) + value;
}

/** Begins anew with the replicas that run: nothing is going on, and all was judged. Samples stay, for their slope. */
async function forget(world: World): Promise<void> {
  const { recorder, replicas } = world;
  for (const table of [
    'push_dead_letters',
    'push_notification_configs',
    'task_snapshots',
    'task_events',
    'tasks',
  ])
    await world.database.query(`DELETE FROM ${table}`);
  const alive = new Set(replicas.filter((replica) => replica.alive).map(({ name }) => name));
  // What was broken a moment ago may still have replicas wait before they sweep.
  const recentMs = nowMs() - 3 * world.settings.ttlMs;
  keepOnly(
    recorder.faults,
    ({ replica, toMs }) => (replica === null || alive.has(replica)) && (toMs ?? 0) > recentMs,
  );
  keepOnly(recorder.replicas, ({ name }) => alive.has(name));
  keepOnly(recorder.samples, ({ replica }) => alive.has(replica));
  keepOnly(replicas, ({ name }) => alive.has(name));
  for (const list of [recorder.streams, recorder.calls, recorder.pushes, recorder.logs]) list.length = 0;
  for (const replica of replicas) replica.logs.length = 0;
}

function keepOnly<T>(list: T[], keep: (each: T) => boolean): void {
  const kept = list.filter(keep);
  list.splice(0, list.length, ...kept);
}
