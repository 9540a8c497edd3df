import { afterEach, describe, expect, test } from '@jest/globals';
import { TaskState, type StreamResponse } from '@a2a-js/sdk';
import { createSilentLogger, type Logger } from '@a2a-cluster/core';
import { createMemoryDatabase } from '@a2a-cluster/db';
import { createFakeClock } from '@a2a-cluster/testing';
import { describeServiceStress } from '@a2a-cluster/testing/contract';
import { statusEvent, taskEvent } from '../../../test/integration/support/events.js';
import { createCluster, turnOf, type Cluster, type ClusterOptions } from '../src/index.js';
import { createCloseSteps } from '../src/close-steps.js';
import { notReadyReasons } from '../src/status.js';
import {
  card,
  contextOf,
  executor,
  gate,
  idle,
  newCluster,
  request,
  send,
  until,
  watchedDatabase,
} from './support.js';

const clusters: Cluster[] = [];

async function start(options: Partial<ClusterOptions> = {}): Promise<Cluster> {
  const cluster = await newCluster(options);
  clusters.push(cluster);
  await cluster.start();
  return cluster;
}

afterEach(async () => {
  for (const cluster of clusters.splice(0)) await cluster.close({ drainTimeoutMs: 1 });
});

/** Publishes its task, then waits for whatever comes. */
const endless = executor((context, bus) => {
  bus.publish(taskEvent(context));
  return new Promise((resolve) => turnOf(context).signal.addEventListener('abort', () => resolve()));
});

describeServiceStress('a cluster', (clock) =>
  newCluster({ clock, database: createMemoryDatabase({ clock }) }),
);

describe('createCluster', () => {
  test.each([
    [{}, /lacks databaseUrl \(or database\), agentCard, executor$/],
    [{ databaseUrl: 'file:x', agentCard: card }, /lacks executor$/],
    [{ databaseUrl: 'file:x', agentCard: card, executor: {} }, /executor\.execute, executor\.cancelTask$/],
    [{ database: { journal: {} }, agentCard: card, executor: idle }, /lacks database\.leases, database\.log/],
    [undefined, /lacks databaseUrl/],
  ])('refuses half a cluster and names what is missing (%#)', async (options, message) => {
    const refused = createCluster(options as never);
    await expect(refused).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    await expect(refused).rejects.toThrow(message);
  });

  test.each([
    [{ lease: { ttlMs: 1_000, heartbeatMs: 900 } }, /ttlMs - marginMs/],
    [{ maxConcurrentTurns: -1 }, /maxConcurrentTurns is -1/],
    [{ replicaId: 'x'.repeat(500) }, /replicaId/],
    [{ retention: { eventsMs: 2_000, tasksMs: 1_000 } }, /tasksMs is 1000 and retention\.eventsMs is 2000/],
    [{ sweeper: { orphanAfterMs: 1 } }, /orphanAfterMs is 1, it must be at least 2 x ttlMs/],
    [{ databaseUrl: 'redis://x', database: undefined as never }, /redis|DATABASE_URL|databaseUrl|scheme/i],
  ])('refuses options that do not add up (%#)', async (options, message) => {
    await expect(newCluster(options)).rejects.toThrow(message);
  });

  test("leaves a database that is the caller's own open", async () => {
    const watched = watchedDatabase();
    const cluster = await newCluster({ database: watched.database });
    await cluster.start();
    await cluster.close();
    expect(watched.calls).not.toContain('close');
  });
});

describe('status', () => {
  test('is ready between start and close, and says why it is not', async () => {
    const cluster = await newCluster({ replicaId: 'here' });
    expect(cluster.status()).toMatchObject({
      ready: false,
      reasons: ['starting', 'the database has not answered yet'],
      runningTurns: 0,
      heldLeases: 0,
    });
    await cluster.start();
    await until(() => cluster.status().ready);
    expect(cluster.status()).toMatchObject({ reasons: [], replicaId: expect.stringMatching(/^here-\w{8}$/) });
    const closing = cluster.close();
    expect(cluster.status().reasons).toContain('draining');
    await closing;
    expect(cluster.status()).toMatchObject({ ready: false, reasons: ['closed'] });
  });

  test('is not ready once the database has not answered for as long as a lease can be trusted, and again after', async () => {
    const clock = createFakeClock();
    const database = createMemoryDatabase({ clock });
    let away = false;
    const report: typeof database.replicas.report = (own) =>
      away ? new Promise(() => {}) : database.replicas.report(own);
    const replicas = { ...database.replicas, report };
    const cluster = await newCluster({ clock, database: { ...database, replicas } });
    await cluster.start();
    await clock.advance(1);
    expect(cluster.status().ready).toBe(true);
    away = true;
    await clock.advance(10_000);
    expect(cluster.status().reasons).toEqual([expect.stringMatching(/no answer of the database/)]);
    away = false;
    await clock.advance(200);
    expect(cluster.status().ready).toBe(true);
    await cluster.close();
  });

  test('counts turns and leases', async () => {
    const cluster = await start({ executor: endless });
    await send(cluster, request('go', { immediately: true }));
    expect(cluster.status()).toMatchObject({
      runningTurns: 1,
      heldLeases: 1,
      lastBeatAgeMs: expect.any(Number),
    });
  });

  test.each([
    [{ lastBeatAgeMs: 200 }, ['no heartbeat for 200 ms']],
    [{ lastBeatAgeMs: null }, []],
    [{ databaseAgeMs: 101 }, ['no answer of the database for 101 ms']],
    [{ phase: 'draining' as const, databaseAgeMs: null }, ['draining', 'the database has not answered yet']],
  ])('judges readiness by the facts (%j)', (facts, reasons) => {
    const fresh = { phase: 'running' as const, lastBeatAgeMs: 1, databaseAgeMs: 1, freshMs: 100 };
    expect(notReadyReasons({ ...fresh, ...facts })).toEqual(reasons);
  });
});

describe('close', () => {
  test('refuses new turns, ends the running ones, keeps their leases until then, and asks nothing after', async () => {
    const watched = watchedDatabase();
    const cluster = await newCluster({
      database: watched.database,
      lease: { ttlMs: 1_500, heartbeatMs: 60, marginMs: 200, sweepIntervalMs: 200 },
      executor: executor((context, bus) => {
        bus.publish(taskEvent(context));
        return new Promise(() => {});
      }),
    });
    await cluster.start();
    const seen: string[] = [];
    const caller = (async () => {
      for await (const event of cluster.requestHandler.sendMessageStream(request('go'), contextOf()))
        seen.push(caseOf(event));
    })();
    await until(() => seen.length === 1);
    const { taskId } = (await cluster.operator.leases())[0]!;
    const subscriber: string[] = [];
    const subscribed = (async () => {
      const events = cluster.requestHandler.resubscribe({ id: taskId, tenant: '' }, contextOf());
      for await (const event of events) subscriber.push(caseOf(event));
    })();
    await until(() => subscriber.length === 1);
    watched.calls.length = 0;
    const closing = cluster.close({ drainTimeoutMs: 300 });
    await expect(send(cluster, request('go'))).rejects.toMatchObject({
      metadata: { reason: 'REPLICA_DRAINING' },
    });
    await closing;
    await Promise.all([caller, subscribed]);
    expect(seen).toEqual(['task', 'FAILED']);
    expect(subscriber).toEqual(['task', 'FAILED']);
    // Beats went on while it was draining, up to the commit that ended the turn.
    const beats = watched.calls.filter((name, at) => name === 'beat' && at < watched.calls.indexOf('commit'));
    expect(beats.length).toBeGreaterThanOrEqual(3);
    const { length } = watched.calls;
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(watched.calls).toHaveLength(length);
  });

  test('is bounded when nothing answers any more', async () => {
    const watched = watchedDatabase();
    const cluster = await newCluster({
      database: watched.database,
      lease: { ttlMs: 1_500, heartbeatMs: 60, marginMs: 200, sweepIntervalMs: 200, renewalTimeoutMs: 100 },
      executor: endless,
    });
    await cluster.start();
    await send(cluster, request('go', { immediately: true }));
    watched.hang();
    await new Promise((resolve) => setTimeout(resolve, 100));
    const startedAt = performance.now();
    await Promise.all([cluster.close({ drainTimeoutMs: 50 }), cluster.close()]);
    expect(performance.now() - startedAt).toBeLessThan(50 + 1_500);
    expect(cluster.status()).toMatchObject({ ready: false, runningTurns: 0 });
  });

  test('goes on with the next step when one fails, or takes too long', async () => {
    const clock = createFakeClock();
    const logged: unknown[] = [];
    const log = (fields: object): void => void logged.push((fields as { step: string }).step);
    const logger: Logger = { debug: log, info: log, warn: log, error: log };
    const steps = createCloseSteps({ clock, logger, limitMs: 1_000, totalMs: 60_000 });
    await steps.run({
      name: 'throws',
      work: () => {
        throw new Error('no');
      },
    });
    await steps.run({ name: 'rejects', work: () => Promise.reject(new Error('no')) });
    await steps.run({ name: 'well', work: () => Promise.resolve() });
    const hanging = steps.run({ name: 'hangs', work: () => new Promise(() => {}) });
    await clock.advance(1_000);
    await hanging;
    expect(logged).toEqual(['throws', 'rejects', 'hangs']);
    expect(clock.pendingTimers()).toBe(0);
  });

  test('is bounded as a whole, however many of its steps hang', async () => {
    const clock = createFakeClock();
    const steps = createCloseSteps({ clock, logger: createSilentLogger(), limitMs: 1_000, totalMs: 1_500 });
    let done = 0;
    const all = (async () => {
      for (const name of ['one', 'two', 'three', 'four']) {
        await steps.run({ name, work: () => new Promise(() => {}) });
        done += 1;
      }
    })();
    await clock.advance(1_000);
    await clock.advance(500);
    expect(done).toBe(2);
    await clock.advance(50);
    await clock.advance(50);
    await all;
  });
});

describe('an operator', () => {
  test("sees every owner's leases and tasks", async () => {
    const cluster = await start({ executor: endless });
    await send(cluster, request('go', { immediately: true }));
    await cluster.requestHandler.sendMessage(request('go', { immediately: true }), contextOf('bob'));
    expect((await cluster.operator.leases()).map(({ owner }) => owner).sort()).toEqual(['alice', 'bob']);
    expect(await cluster.operator.leases({ limit: 1 })).toHaveLength(1);
    expect((await cluster.operator.tasks.find()).tasks).toHaveLength(2);
    const completed = await cluster.operator.tasks.find({ states: ['TASK_STATE_COMPLETED'] });
    expect(completed).toEqual({ tasks: [], next: null });
  });

  test('who releases a lease ends a turn that runs, and leaves a parked task as it is', async () => {
    const lingering = gate();
    const cluster = await start({
      executor: executor(async (context, bus) => {
        bus.publish(taskEvent(context));
        if (context.userMessage.messageId === 'parks')
          bus.publish(statusEvent(context, TaskState.TASK_STATE_INPUT_REQUIRED));
        await lingering.passed;
      }),
    });
    const runs = await send(cluster, request('go', { immediately: true }));
    const parks = await send(cluster, request('go', { messageId: 'parks' }));
    expect(await cluster.operator.releaseLease(runs.id)).toBe('failed');
    expect(await cluster.operator.releaseLease(parks.id)).toBe('dropped');
    expect(await cluster.operator.releaseLease(runs.id)).toBe('not_found');
    expect(await cluster.operator.releaseLease('no-such-task')).toBe('not_found');
    expect(await cluster.operator.releaseLease('ends in a space ')).toBe('not_found');
    lingering.open();
    const states = (await cluster.operator.tasks.find()).tasks.map(({ state }) => state).sort();
    expect(states).toEqual(['TASK_STATE_FAILED', 'TASK_STATE_INPUT_REQUIRED']);
    expect(await cluster.operator.leases()).toEqual([]);
  });

  test("who was overtaken by a sweeper hears that sweeper's verdict, and of a row that is locked that it is busy", async () => {
    const inner = createMemoryDatabase();
    let before: ((taskId: string) => Promise<unknown>) | null = null;
    const leases = new Proxy(inner.leases, {
      get: (target, name) =>
        name !== 'expireNow'
          ? Reflect.get(target, name)
          : async (taskId: string) => {
              const expired = await target.expireNow(taskId);
              await before?.(taskId);
              return expired;
            },
    });
    const cluster = await newCluster({ database: { ...inner, leases }, executor: endless });
    clusters.push(cluster);
    const { id } = await send(cluster, request('go', { immediately: true }));
    before = (taskId) => {
      const lock = { taskId, epoch: 1 };
      const { holder } = { holder: cluster.status().replicaId };
      return inner.leases.beatOne({ holder, ttlMs: 1_000, lease: lock, waitMs: 1 });
    };
    expect(await cluster.operator.releaseLease(id)).toBe('busy');
    const beat = before;
    let beats = 0;
    before = (taskId) => ((beats += 1) === 1 ? beat(taskId) : Promise.resolve());
    const { id: live } = await send(cluster, request('go', { immediately: true }));
    expect(await cluster.operator.releaseLease(live)).toBe('failed');
    expect(beats).toBe(2);
    before = (taskId) =>
      inner.journal.sweep({ limit: 1, sweeper: 's', statusTimestamp: '', text: 'lost', taskId });
    expect(await cluster.operator.releaseLease(id)).toBe('failed');
  });
});

test('a follow-up whose webhook is refused is refused whole, and its task stays as it was', async () => {
  const agentCard = { ...card, capabilities: { ...card.capabilities!, pushNotifications: true } };
  const cluster = await start({
    agentCard,
    executor: executor(async (context, bus) => {
      bus.publish(taskEvent(context));
      bus.publish(statusEvent(context, TaskState.TASK_STATE_INPUT_REQUIRED));
    }),
  });
  const { id } = await send(cluster, request('go'));
  const message = request('this', { taskId: id });
  const taskPushNotificationConfig = {
    ...{ tenant: '', id: '', taskId: '', url: 'http://127.0.0.1/hook', token: '' },
    authentication: undefined,
  };
  const configuration = { ...message.configuration!, taskPushNotificationConfig };
  await expect(send(cluster, { ...message, configuration })).rejects.toMatchObject({
    name: 'RequestMalformedError',
  });
  expect((await cluster.operator.tasks.find()).tasks[0]?.version).toBe(2);
});

function caseOf({ payload }: StreamResponse): string {
  if (payload?.$case !== 'statusUpdate') return payload?.$case ?? '';
  return (TaskState[payload.value.status?.state ?? 0] ?? '').replace('TASK_STATE_', '');
}
