import { openRaw } from '@a2a-cluster/testing';
import type { Scenario } from '../scenario.js';
import { missingPgBouncer, startPgBouncer } from '../tools/pgbouncer.js';
import type { Replica } from '../world/replica.js';
import type { StartOptions, World } from '../world/world.js';
import { latenciesMs } from './support/latency.js';
import { largest, percentile } from './support/numbers.js';
import { expectAllTicks } from './support/outcome.js';
import { taskCount } from './support/tasks.js';

const TICKS = 100;
const TICK_MS = 100;
/** The interval at which the log is asked without hints, and what a busy machine adds. */
const MOST_LAG_MS = 250 + 750;

/** Without hints: switched off. MySQL and MariaDB have none at any time. */
export const noHints: Scenario = {
  id: 'R17',
  title: 'hints are switched off',
  databases: ['postgresql', 'sqlite'],
  async run(world) {
    const replicas = await runWithout(world, { env: { HINTS: 'poll' } });
    const modes = await Promise.all(replicas.map(async (replica) => (await streamOf(replica))?.mode));
    world.expect(
      modes.every((mode) => mode === 'poll'),
      `the replicas are in mode ${modes.join()}`,
    );
  },
};

/**
 * PgBouncer in transaction mode: LISTEN hears nothing, names of statements get lost, settings of a session do not stick.
 * As nobody has configured it, it refuses our start parameters too, and the settings stand at the database.
 */
export const pooler: Scenario = {
  id: 'R17b',
  title: 'PgBouncer in transaction mode stands in front of the database',
  databases: ['postgresql'],
  missing: () => {
    const missing = missingPgBouncer();
    return missing === null ? null : `${missing} is missing`;
  },
  async run(world) {
    await setLimits(world);
    const bouncer = await startPgBouncer({ url: world.database.url });
    world.atEnd(() => bouncer.remove());
    const replicas = await runWithout(world, { databaseUrl: bouncer.url });
    for (const replica of replicas) {
      const warned = replica.logs.some(
        ({ level, msg }) => level === 'warn' && msg.startsWith('no hints between replicas'),
      );
      world.expect(warned, `${replica.name} did not warn at its start that there are no hints`);
    }
    const bad = world.recorder.logs.filter(
      ({ msg, fields }) =>
        /prepared statement/i.test(msg + JSON.stringify(fields)) &&
        !msg.startsWith('prepared statements get lost'),
    );
    world.expect(bad.length === 0, `a statement failed for its name: ${JSON.stringify(bad[0])}`);
    const refused = world.recorder.calls.filter(({ error }) => error !== null).length;
    world.expect(refused === 0, `${refused} calls were refused`);
  },
};

/** Turns, follow-ups and cancels on three replicas without hints. */
async function runWithout(world: World, options: StartOptions): Promise<Replica[]> {
  const replicas = await world.startReplicas(3, options);
  const script = `tick ${TICKS} ${TICK_MS}`;
  const load = await world.load({ tasks: taskCount(world), script, holders: replicas });
  const [first, second, third] = replicas;
  const asked = await first?.as().send({ text: 'ask which' });
  const answered = await second?.as().send({ text: 'tick 3 20', taskId: asked?.task?.id ?? '' });
  expectState(world, answered?.task?.status.state, 'TASK_STATE_COMPLETED');
  const started = await third?.as().send({ text: 'tick 600 50', returnImmediately: true });
  const canceled = await first?.as().cancel(started?.task?.id ?? '');
  expectState(world, canceled?.task?.status.state, 'TASK_STATE_CANCELED');
  await world.settled({ withinMs: 2 * TICKS * TICK_MS });
  await Promise.all(load.map((task) => task.ended));
  await expectAllTicks(world, load, TICKS);
  const { events } = await world.database.read(await world.database.aheadMs());
  const lags = load.flatMap(({ taskId, subscriber }) =>
    latenciesMs(
      subscriber,
      events.filter((row) => row.taskId === taskId),
    ),
  );
  world.figure('lag ms p50', percentile(lags, 0.5));
  world.figure('lag ms p95', percentile(lags, 0.95));
  world.figure('lag ms max', largest(lags));
  world.expect(percentile(lags, 0.95) <= MOST_LAG_MS, 'events are late');
  return replicas;
}

function expectState(world: World, state: string | undefined, wanted: string): void {
  world.expect(state === wanted, `a task is ${state ?? 'not answered'}, not ${wanted}`);
}

async function streamOf(replica: Replica): Promise<{ readonly mode?: string } | undefined> {
  return (await replica.health())?.['stream'] as { readonly mode?: string } | undefined;
}

/** What a session cannot set for itself behind this pooler. */
async function setLimits(world: World): Promise<void> {
  const name = new URL(world.database.url).pathname.slice(1);
  const { ttlMs } = world.settings;
  const settings: Record<string, string> = {
    ...{ timezone: 'UTC', default_transaction_isolation: 'read committed' },
    ...{ lock_timeout: String(Math.floor(ttlMs / 3)), statement_timeout: '10000' },
    idle_in_transaction_session_timeout: String(Math.floor(ttlMs / 3)),
  };
  const raw = await openRaw(world.database.url);
  for (const [setting, value] of Object.entries(settings))
    await raw.run(`ALTER DATABASE ${name} SET ${setting} = '${value}'`);
  await raw.close();
}
