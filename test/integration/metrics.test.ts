import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { TaskState } from '@a2a-js/sdk';
import { AgentEvent, type AgentExecutor, type RequestContext } from '@a2a-js/sdk/server';
import { turnOf } from '@a2a-cluster/cluster';
import { COUNTERS, HISTOGRAMS, type MetricDefinition } from '@a2a-cluster/core';
import { createDatabase, type Database } from '@a2a-cluster/db';
import { availableProviders, createTestDatabase, openRaw, type TestDatabase } from '@a2a-cluster/testing';
import { METRIC_PREFIX, seriesOf } from '../../apps/clustermode/src/operator/telemetry-metrics.js';
import { agentMessage, artifactEvent, statusEvent, taskEvent } from './support/events.js';
import { startMetered, type MeteredReplica } from './support/metered.js';
import { agent, callContext } from './support/replica-in-process.js';
import { Rows } from './support/rows.js';
import { waitUntil } from './support/wait-until.js';

/** Moved by the tests of what they count, and by nothing that is provoked here. */
const ELSEWHERE: ReadonlySet<string> = new Set([
  'pruned_total{what="events"}',
  'pruned_total{what="tasks"}',
  'stream_resets_total',
  'leaseless_turns_ended_total',
]);

const TTL_MS = 2_000;
const lease = { ttlMs: TTL_MS, heartbeatMs: 300, sweepIntervalMs: 400 };
/** More than a replica buffers of a task. */
const MANY_EVENTS = 1_300;

describe.each(availableProviders())('the metrics of two replicas, on %s', (provider) => {
  let home: TestDatabase;
  let rows: Rows;
  let database: Database;
  let beats = true;
  let odd: OddClock = {};
  /** The first loses its leases when it is told to, and leaves turns incomplete; the second takes two turns at most. */
  let first: MeteredReplica;
  let second: MeteredReplica;

  beforeAll(async () => {
    home = await createTestDatabase({ provider });
    rows = await Rows.open(home.url);
    database = await createDatabase({ url: home.url, ttlMs: TTL_MS, poolSize: 4 });
    const executor = scripted(rows);
    const leases = failing(database.leases, { isSick: () => !beats, odd: () => odd });
    const sick = { ...database, leases };
    first = await startMetered({ database: sick, executor, lease, incompleteTurn: 'keep' });
    second = await startMetered({ databaseUrl: home.url, executor, lease, maxConcurrentTurns: 1 });
  });
  afterAll(async () => {
    await first.close();
    await second.close();
    await database.close();
    await rows.close();
    await home.drop();
  });

  const value = async (series: string): Promise<number> => {
    const scrapes = await Promise.all([first.scrape(), second.scrape()]);
    return scrapes.reduce((sum, scrape) => sum + (scrape.get(METRIC_PREFIX + series) ?? NaN), 0);
  };
  const moved = (series: string): Promise<number> =>
    waitUntil({
      what: `${series} moves`,
      limitMs: 15_000,
      ask: async () => ((await value(series)) > 0 ? value(series) : undefined),
    });
  const begin = async (replica: MeteredReplica, text: string, taskId?: string): Promise<string> => {
    const configuration = { returnImmediately: true };
    const say = { text, configuration, ...(taskId === undefined ? {} : { taskId }) };
    const { result, error } = await replica.client.send(say);
    if (result?.task === undefined) throw new Error(JSON.stringify(error));
    return result.task.id;
  };

  test('every series stands at 0 before anything has happened', async () => {
    const scrape = await second.scrape();
    const counted = Object.entries(COUNTERS).flatMap(([name, definition]) => seriesNames(name, definition));
    for (const series of counted) expect([series, scrape.get(METRIC_PREFIX + series)]).toEqual([series, 0]);
    for (const name of Object.keys(HISTOGRAMS)) expect(scrape.get(`${METRIC_PREFIX}${name}_count`)).toBe(0);
  });

  test.each(['completed', 'failed', 'rejected', 'input_required', 'auth_required', 'incomplete', 'message'])(
    'a turn that ends as %s is counted once, when it begins and when it ends',
    async (end) => {
      const before = await value('turns_started_total');
      await first.client.send({ text: end });
      expect(await moved(`turns_ended_total{end="${end}"}`)).toBe(1);
      expect(await value('turns_started_total')).toBe(before + 1);
    },
  );

  test('a follow-up acquires its lease as one', async () => {
    const before = await value('leases_acquired_total{by="new_task"}');
    const taskId = await begin(first, 'input_required');
    await waitUntil({
      what: 'the lease goes',
      limitMs: 5_000,
      ask: async () => ((await rows.lease(taskId)) ? undefined : true),
    });
    await first.client.send({ text: 'completed', taskId });
    expect(await moved('leases_acquired_total{by="follow_up"}')).toBe(1);
    expect(await value('leases_acquired_total{by="new_task"}')).toBe(before + 1);
  });

  test('every reason of a refusal is counted as itself', async () => {
    const taskId = await begin(second, 'hold');
    await first.client.send({ text: 'completed', taskId });
    expect(await value('turns_refused_total{reason="TASK_BUSY"}')).toBe(1);
    await second.client.send({ text: 'completed' });
    expect(await value('turns_refused_total{reason="TOO_MANY_TURNS"}')).toBe(1);
    await first.client.cancel(taskId);
    expect(await moved('turns_ended_total{end="canceled"}')).toBe(1);
    expect(await value('leases_lost_total{cause="gone"}')).toBe(0);
  });

  test('heartbeats are timed, with what was left, and what they renew', async () => {
    const taskId = await begin(second, 'hold');
    for (const series of ['leases_renewed_total', 'renewal_seconds_count', 'renewal_margin_seconds_count'])
      await moved(series);
    const [left, count] = [
      await value('renewal_margin_seconds_sum'),
      await value('renewal_margin_seconds_count'),
    ];
    expect(left / count).toBeGreaterThan(0);
    expect(left / count).toBeLessThanOrEqual(1);
    await first.client.cancel(taskId);
  });

  test('commits are timed, and their events counted', async () => {
    const [commits, events] = [await moved('commit_seconds_count'), await moved('commit_events_sum')];
    expect(events).toBeGreaterThanOrEqual(commits);
  });

  test.each([
    ['gone', (taskId: string) => `DELETE FROM task_leases WHERE task_id = '${taskId}'`],
    ['taken', (taskId: string) => `UPDATE task_leases SET epoch = epoch + 1 WHERE task_id = '${taskId}'`],
  ])('a lease whose row is %s is lost as such', async (cause, change) => {
    const taskId = await begin(second, 'hold');
    await rows.run(change(taskId));
    expect(await moved(`leases_lost_total{cause="${cause}"}`)).toBe(1);
    expect(await moved('turns_ended_total{end="lost"}')).toBeGreaterThan(0);
  });

  test('a write that comes too late is counted, and its lease is lost once', async () => {
    expect(await value('late_writes_refused_total')).toBe(0);
    // Where the replica hears of the loss by its next read before the write is sent, there is none: then once more.
    await waitUntil({
      what: 'a late write',
      limitMs: 20_000,
      ask: async () => {
        await begin(first, 'late');
        await waitUntil({
          what: 'it is lost',
          limitMs: 5_000,
          ask: async () => (first.cluster.status().runningTurns === 0 ? true : undefined),
        });
        return (await value('late_writes_refused_total')) > 0 ? true : undefined;
      },
    });
  });

  test('a replica whose heartbeats fail loses its leases by its deadline, and the other sweeps them', async () => {
    const running = await begin(first, 'hold');
    const parked = await begin(first, 'linger');
    beats = false;
    await moved('heartbeats_failed_total');
    expect(await moved('leases_lost_total{cause="deadline"}')).toBeGreaterThan(0);
    await moved('leases_swept_total{verdict="failed"}');
    await moved('leases_swept_total{verdict="dropped"}');
    beats = true;
    const lag = (await moved('sweep_lag_seconds_sum')) / (await moved('sweep_lag_seconds_count'));
    expect(lag).toBeLessThan(TTL_MS / 1_000);
    expect((await rows.task(running))?.state).toBe('TASK_STATE_FAILED');
    expect((await rows.task(parked))?.state).toBe('TASK_STATE_INPUT_REQUIRED');
  });

  test.each<[string, OddClock]>([
    ['clock_step', { aheadMs: 60_000 }],
    ['other_server', { identity: 'another' }],
    ['blackout', { fails: true }],
  ])('a database that changes (%s) makes a quiet period', async (cause, how) => {
    // A second cause within two TTLs prolongs nothing, and is not counted.
    await waitUntil({
      what: `a quiet period for ${cause}`,
      limitMs: 30_000,
      ask: async () => {
        odd = how;
        await clockWasRead();
        // A silence counts when it is longer than a live turn survives.
        if (how.fails) await new Promise((resolve) => setTimeout(resolve, TTL_MS / 4));
        odd = {};
        await clockWasRead();
        await clockWasRead();
        return (await value(`quiet_periods_total{cause="${cause}"}`)) > 0 ? true : undefined;
      },
    });
  });

  test('a subscriber that falls behind the buffer is counted', async () => {
    const taskId = await begin(first, `wait ${MANY_EVENTS}`);
    const slow = first.cluster.requestHandler.resubscribe({ id: taskId, tenant: '' }, callContext(''));
    await slow.next();
    const fast = first.cluster.requestHandler.resubscribe({ id: taskId, tenant: '' }, callContext(''));
    await fast.next();
    goOn();
    for await (const _ of fast);
    for await (const _ of slow);
    expect(await moved('stream_fallbacks_total')).toBeGreaterThan(0);
  });

  // Only LISTEN brings hints that say of what they are.
  const onListen = provider === 'postgresql' ? test : test.skip;
  onListen('a hint is timed until its event is delivered', async () => {
    const taskId = await begin(second, 'wait 1');
    const watcher = first.cluster.requestHandler.resubscribe({ id: taskId, tenant: '' }, callContext(''));
    await watcher.next();
    goOn();
    for await (const _ of watcher);
    expect(await moved('hint_to_delivery_seconds_count')).toBeGreaterThan(0);
  });

  test('a replica that drains counts the turns it refuses', async () => {
    second.cluster.requestHandler.drain();
    await second.client.send({ text: 'completed' });
    expect(await moved('turns_refused_total{reason="REPLICA_DRAINING"}')).toBe(1);
  });

  test('no metric of the catalogue was left where it was', async () => {
    const series = [
      ...Object.entries(COUNTERS).flatMap(([name, definition]) => seriesNames(name, definition)),
      ...Object.keys(HISTOGRAMS).map((name) => `${name}_count`),
    ].filter((name) => !ELSEWHERE.has(name));
    const still: string[] = [];
    for (const name of series) if (!((await value(name)) > 0)) still.push(name);
    expect(still).toEqual(provider === 'postgresql' ? [] : ['hint_to_delivery_seconds_count']);
  });

  test('what a replica says of itself is among them', async () => {
    const scrape = await first.scrape();
    const listening = provider === 'postgresql' ? 1 : 0;
    const { mode } = first.cluster.status().stream;
    expect(scrape.get(`a2a_cluster_hints_listening{mode="${mode}"}`)).toBe(listening);
    for (const name of ['ready', 'running_turns', 'held_leases', 'stream_tails', 'database_age_seconds'])
      expect(scrape.has(METRIC_PREFIX + name)).toBe(true);
    for (const name of ['nodejs_eventloop_lag_p99_seconds', 'a2a_cluster_event_loop_stall_seconds'])
      expect(scrape.get(name)).toBeGreaterThanOrEqual(0);
  });

  test('what the whole cluster has is among them, the same on both', async () => {
    const before = (await second.scrape()).get('a2a_cluster_leaseless_turns') ?? NaN;
    const raw = await openRaw(home.url);
    await raw.run(`INSERT INTO tasks (id, tenant, owner, context_id, state, version)
      VALUES ('left by an older build', '', 'alice', 'c', 'TASK_STATE_WORKING', 1)`);
    await raw.close();
    for (const replica of [first, second])
      await waitUntil({
        what: 'both replicas are alive, and one more task has no lease',
        limitMs: 15_000,
        ask: async () => {
          const scrape = await replica.scrape();
          const alive = scrape.get('a2a_cluster_replicas_alive') === 2;
          return (alive && scrape.get('a2a_cluster_leaseless_turns') === before + 1) || undefined;
        },
      });
  });
});

/** Lets the turns that wait go on. */
let goOn: () => void = () => {};

/** An agent that does what its message names. */
function scripted(rows: Rows): AgentExecutor {
  return agent(async (context, bus) => {
    const [what = '', count] = textOf(context).split(' ');
    const { signal } = turnOf(context);
    const status = (state: TaskState): void => bus.publish(statusEvent(context, state));
    if (what === 'message') return bus.publish(AgentEvent.message(agentMessage(context, 'hello')));
    bus.publish(taskEvent(context));
    const end = END[what];
    if (end !== undefined) return status(end);
    if (what === 'failed') throw new Error('no');
    if (what === 'linger') status(TaskState.TASK_STATE_INPUT_REQUIRED);
    if (what === 'hold' || what === 'linger') await aborted(signal);
    if (what === 'incomplete') status(TaskState.TASK_STATE_WORKING);
    if (what === 'late') {
      await turnOf(context).held;
      await rows.run(`DELETE FROM task_leases WHERE task_id = '${context.taskId}'`);
      status(TaskState.TASK_STATE_WORKING);
      await aborted(signal);
    }
    if (what !== 'wait') return;
    await new Promise<void>((resolve) => (goOn = resolve));
    for (let n = 0; n < Number(count); n++) {
      bus.publish(artifactEvent(context, 'x', n > 0));
      if (n % 100 === 99) await turnOf(context).drained();
    }
    status(TaskState.TASK_STATE_COMPLETED);
  });
}

const END: Readonly<Record<string, TaskState>> = {
  completed: TaskState.TASK_STATE_COMPLETED,
  rejected: TaskState.TASK_STATE_REJECTED,
  input_required: TaskState.TASK_STATE_INPUT_REQUIRED,
  auth_required: TaskState.TASK_STATE_AUTH_REQUIRED,
};

function textOf(context: RequestContext): string {
  const content = context.userMessage.parts[0]?.content;
  return content?.$case === 'text' ? content.value : '';
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

const clockReaders: (() => void)[] = [];

/** Resolves when the first replica has asked for the database's clock again. */
const clockWasRead = (): Promise<void> => new Promise((resolve) => clockReaders.push(resolve));

/** How the database's clock is not what it was. */
interface OddClock {
  readonly aheadMs?: number;
  readonly identity?: string;
  readonly fails?: boolean;
}

/** The statements of leases, whose renewals fail and whose clock is odd while they are told to be. */
function failing(
  leases: Database['leases'],
  how: { isSick(): boolean; odd(): OddClock },
): Database['leases'] {
  const sick = (): never => {
    throw new Error('no way to the database');
  };
  const readClock: Database['leases']['readClock'] = async () => {
    const { aheadMs = 0, identity, fails } = how.odd();
    for (const told of clockReaders.splice(0)) setImmediate(told);
    if (fails) throw new Error('no way to the database');
    const read = await leases.readClock();
    return { ...read, nowMs: read.nowMs + aheadMs, identity: identity ?? read.identity };
  };
  return new Proxy(leases, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      if (name === 'readClock') return readClock;
      const renews = name === 'beat' || name === 'beatOne';
      return (...args: unknown[]): unknown =>
        renews && how.isSick() ? sick() : Reflect.apply(member, target, args);
    },
  });
}

function seriesNames(name: string, definition: MetricDefinition): string[] {
  return seriesOf(definition).map((labels) => {
    const pairs = Object.entries(labels).map(([label, of]) => `${label}="${of}"`);
    return pairs.length === 0 ? name : `${name}{${pairs.join(',')}}`;
  });
}
