import { openRaw } from '@a2a-cluster/testing';
import type { Scenario } from '../scenario.js';
import type { World } from '../world/world.js';
import { LeaseProbe } from './support/lease-probe.js';
import { percentile } from './support/numbers.js';
import { expectAllTicks } from './support/outcome.js';

const HELD_MS = 120_000;
const MEASURE_MS = 15_000;
const BUSY_TASKS = 20;
const QUIET_TASKS = 80;
const TICK_MS = 200;
const PROBE_LEASES = 50;
const MOST_GROWTH = 3;
/** Below this a ratio says more about the machine than about the database. */
const LEAST_MS = 2;

/** Begins a transaction that sees the tables as they are now for as long as it is open. */
const SNAPSHOT = {
  postgresql: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT count(*) FROM task_leases',
  mysql: 'START TRANSACTION WITH CONSISTENT SNAPSHOT',
  sqlite: 'BEGIN; SELECT count(*) FROM task_leases',
};

/**
 * A report that somebody left open: the database may not clean up behind renewals and commits (dead rows, undo, WAL).
 * Renewals and sweeps get slower, by how much is what this measures.
 */
export const oldSnapshot: Scenario = {
  id: 'R28',
  title: 'a transaction stays open for two minutes under load',
  databases: ['postgresql', 'mysql', 'sqlite'],
  onlyByName: true,
  async run(world) {
    const replicas = await world.startReplicas(3);
    const ticks = Math.ceil((HELD_MS + 2 * MEASURE_MS) / TICK_MS);
    const busy = await world.load({
      tasks: BUSY_TASKS,
      script: `tick ${ticks} ${TICK_MS}`,
      holders: replicas,
      push: false,
    });
    const silent = `tick 1 1; sleep ${ticks * TICK_MS}`;
    const quiet = await world.load({
      tasks: quietTasks(world),
      script: silent,
      holders: replicas,
      push: false,
    });
    const probe = await LeaseProbe.open(world, PROBE_LEASES);
    const before = await probe.measure(MEASURE_MS);
    const raw = await openRaw(world.database.url);
    await raw.run(SNAPSHOT[world.provider]);
    world.say('the transaction is open');
    await probe.measure(HELD_MS - MEASURE_MS);
    const after = await probe.measure(MEASURE_MS);
    await raw.run('COMMIT');
    await raw.close();
    await probe.close();
    await world.settled({ withinMs: 2 * ticks * TICK_MS });
    await Promise.all([...busy, ...quiet].map((task) => task.ended));
    await expectAllTicks(world, busy, ticks);
    for (const what of ['renew', 'sweep'] as const) {
      const [was, is] = [percentile(before[what], 0.5), percentile(after[what], 0.5)];
      world.figure(`${what} ms before`, was);
      world.figure(`${what} ms after ${HELD_MS / 1_000} s`, is);
      world.expect(is <= MOST_GROWTH * Math.max(was, LEAST_MS), `${what} went from ${was} ms to ${is} ms`);
    }
  },
};

function quietTasks(world: World): number {
  return world.provider === 'postgresql' ? QUIET_TASKS : 0;
}
