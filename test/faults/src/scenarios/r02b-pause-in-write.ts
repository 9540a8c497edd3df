import type { Scenario } from '../scenario.js';
import type { LoadTask } from '../world/load.js';
import { pause } from '../world/now.js';
import { stateOf } from '../world/stream.js';
import type { World } from '../world/world.js';
import { leaseExpires, leaseGoes, leaseOf } from './support/leases.js';
import { lockRow } from './support/row-lock.js';
import { startArmed, type Armed } from './support/victims.js';

/** How long after it has parked a turn goes on: long enough to set a failpoint. */
const RELAPSE_MS = 1_000;
/** How long before the lease expires the task's row is locked: the limits of the statement end after the expiry. */
const BEFORE_EXPIRY_MS = 1_650;

/**
 * A holder stops while one of its writes is under way. Not on SQLite: a write there is one call, and a process that
 * stands still inside it stops everybody's writes, which is R2.
 */
export const pauseInWrite: Scenario = {
  id: 'R2b',
  title: 'a replica stands still inside a write',
  databases: ['postgresql', 'mysql'],
  async run(world) {
    const [watcher, ...victims] = await Promise.all([
      startArmed(world, ''),
      ...Array.from({ length: 4 }, () => startArmed(world, '')),
    ]);
    const [landing, late, parked, open] = victims;
    if (!landing || !late || !parked || !open) return;
    const run = (victim: Armed, script: string, how: Phase['how']): Promise<void> =>
      phase(world, { victim, watcher, script, how });
    await Promise.all([
      run(landing, 'tick 2000 50', landsBefore),
      run(late, 'tick 2000 50', comesLate),
      speaksAgain(world, { victim: parked, watcher }),
      world.provider === 'mysql' ? run(open, 'tick 2000 50', stopsBeforeCommit) : undefined,
    ]);
    await world.settled({ withinMs: world.settings.ttlMs + 1_000 });
  },
};

interface Phase {
  readonly victim: Armed;
  readonly watcher: Armed;
  readonly script: string;
  how(world: World, stopped: Stopped): Promise<void>;
}

interface Stopped {
  readonly victim: Armed;
  readonly watcher: Armed;
  readonly task: LoadTask;
}

async function phase(world: World, { victim, watcher, script, how }: Phase): Promise<void> {
  const [task] = await world.load({
    ...{ tasks: 1, script, holders: [victim.replica] },
    watchers: [watcher.replica],
  });
  if (task === undefined) return world.expect(false, 'a turn did not begin');
  await how(world, { victim, watcher, task });
  await victim.replica.log(({ msg, taskId }) => msg === 'agent turn returned' && taskId === task.taskId);
}

/** The row is free again before the lease expires: what waited lands while its sender stands still. */
async function landsBefore(world: World, { victim: { replica }, task: { taskId } }: Stopped): Promise<void> {
  const lock = await lockRow(world, { table: 'tasks', taskId, replica: replica.name });
  await lock.waitedFor();
  replica.stop();
  const before = await rowsOf(world, taskId);
  await lock.release();
  await leaseGoes(world, taskId);
  const landed = (await rowsOf(world, taskId)) - before - 1;
  if (world.provider === 'postgresql')
    world.expect(landed > 0, 'the write that waited was refused before the sweep', taskId);
  world.figure('events that landed before the sweep', landed);
  replica.cont();
}

/** The row is free again only after the lease has expired: what waited must not land. */
async function comesLate(world: World, { victim, task: { taskId } }: Stopped): Promise<void> {
  const { replica, points } = victim;
  // Without renewals the moment of the expiry is known.
  await points.set('leases.beat@before=hang;leases.beatOne@before=hang');
  const hanging = replica.fault('statements', 'its renewals hang');
  const lease = await leaseOf(world, taskId);
  if (lease === null) return world.expect(false, 'the turn lost its lease too early', taskId);
  await pause(lease.remainingMs - BEFORE_EXPIRY_MS);
  const lock = await lockRow(world, { table: 'tasks', taskId, replica: replica.name });
  await lock.waitedFor();
  replica.stop();
  await leaseExpires(world, taskId);
  world.figure('writes that waited past the expiry', await lock.waiting());
  const expired = await leaseOf(world, taskId);
  // MySQL: the locks are taken by one statement, the rows written by the next, which a stopped client never sends.
  if (world.provider === 'mysql') replica.cont();
  await lock.release();
  await leaseGoes(world, taskId);
  replica.cont();
  await points.set('');
  hanging.end();
  await expectNothingAfter(world, { taskId, expiresAtMs: (expired ?? lease).expiresAtMs });
}

/** The rows of the holder that were stored after its lease had expired. */
async function expectNothingAfter(
  world: World,
  { taskId, expiresAtMs }: { readonly taskId: string; readonly expiresAtMs: number },
): Promise<void> {
  const aheadMs = await world.database.aheadMs();
  const { events } = await world.database.read(aheadMs);
  const late = events.filter(
    (row) =>
      row.taskId === taskId &&
      row.createdAtMs + aheadMs > expiresAtMs &&
      !row.payload.includes('"replica_lost"'),
  );
  for (const { seq, createdAtMs } of late)
    world.expect(
      false,
      `seq ${seq} landed ${createdAtMs + aheadMs - expiresAtMs} ms after the expiry`,
      taskId,
    );
  world.figure('rows after the expiry', late.length);
}

/**
 * A turn that parked its task stands still just before it sends what it says next, until its lease is dropped. Neither
 * the version nor a terminal state stands in the way of that write, only the fence.
 */
async function speaksAgain(
  world: World,
  { victim: { replica, points }, watcher }: { readonly victim: Armed; readonly watcher: Armed },
): Promise<void> {
  const [task] = await world.load({
    ...{ tasks: 1, script: `relapse ${RELAPSE_MS}`, holders: [replica] },
    watchers: [watcher.replica],
  });
  if (task === undefined) return world.expect(false, 'a turn did not begin');
  const { taskId, subscriber } = task;
  await subscriber.find((event) => stateOf(event) === 'TASK_STATE_INPUT_REQUIRED');
  await points.set(`journal.commit@before=stop#1?${taskId}`);
  await points.passed('journal.commit@before');
  const stopped = replica.fault('stop', 'at journal.commit, before it is sent');
  await leaseGoes(world, taskId);
  const before = await rowsOf(world, taskId);
  replica.cont();
  stopped.end();
  await replica.log(({ msg, taskId: of }) => msg === 'agent turn returned' && of === taskId);
  const more = (await rowsOf(world, taskId)) - before;
  world.expect(more === 0, `${more} events of a turn whose lease was dropped landed`, taskId);
}

/** MySQL: it stops with its locks held and nothing written yet; the server ends the idle transaction. */
async function stopsBeforeCommit(world: World, { victim, task: { taskId } }: Stopped): Promise<void> {
  const { replica, points } = victim;
  await points.set(`mysql.beforeCommit=stop#1?${taskId}`);
  await points.passed('mysql.beforeCommit');
  // It stops itself a moment later; a second stop from here could come to pass after its end.
  const stopped = replica.fault('stop', 'at mysql.beforeCommit');
  await leaseGoes(world, taskId);
  const before = await rowsOf(world, taskId);
  replica.cont();
  stopped.end();
  await replica.log(({ msg, taskId: of }) => msg === 'agent turn returned' && of === taskId);
  const after = await rowsOf(world, taskId);
  world.expect(after === before, `${after - before} events landed after the sweep`, taskId);
}

function rowsOf(world: World, taskId: string): Promise<number> {
  return world.database.number(`SELECT COUNT(*) FROM task_events WHERE task_id = '${taskId}'`);
}
