import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { TaskState } from '@a2a-js/sdk';
import { createDatabase, type Database } from '@a2a-cluster/db';
import { availableProviders, createTestDatabase, type TestDatabase } from '@a2a-cluster/testing';
import { startCluster, type TestCluster } from './support/cluster-of.js';
import { statusEvent, taskEvent } from './support/events.js';
import { violations } from './support/invariants.js';
import { Recording, stateOf, textOf } from './support/recording.js';
import { agent, startInProcess } from './support/replica-in-process.js';
import { TTL_MS } from './support/replica-process.js';
import { Rows } from './support/rows.js';
import { startWebhook, type Webhook } from './support/webhook.js';

describe.each(availableProviders())('a holder that is stopped for three times the TTL, on %s', (provider) => {
  let cluster: TestCluster;
  let rows: Rows;
  let webhook: Webhook;

  beforeAll(async () => {
    cluster = await startCluster({ provider, count: 2 });
    rows = await Rows.open(cluster.database.url);
    webhook = await startWebhook();
  });
  afterAll(async () => {
    await webhook.close();
    await rows.close();
    await cluster.end();
  });

  test('comes back as a zombie: nothing it says is stored, streamed or pushed, and its caller learns the truth', async () => {
    const [holder, other] = cluster.replicas;
    const configuration = { taskPushNotificationConfig: { url: webhook.url } };
    const caller = new Recording(holder!.client.stream({ text: 'tick 400 50', configuration }));
    const taskId = await caller.taskId();
    const watcher = new Recording(other!.client.subscribe(taskId));
    await watcher.find((event) => textOf(event).startsWith('tick'));
    await stopBetweenWrites(holder!.kill.bind(holder), rows);
    const failed = await watcher.find((event) => stateOf(event) === 'TASK_STATE_FAILED');
    expect(failed.statusUpdate?.metadata?.['a2a-cluster']?.reason).toBe('replica_lost');
    await new Promise((resolve) => setTimeout(resolve, TTL_MS * 2));
    const atEnd = await rows.events(taskId);
    holder!.kill('SIGCONT');
    await holder!.log((line) => line.msg === 'lost the turn' && line['taskId'] === taskId);
    await caller.find((event) => stateOf(event) === 'TASK_STATE_FAILED');
    expect(await caller.ended).toBeNull();
    expect(await rows.events(taskId)).toEqual(atEnd);
    expect(await violations(cluster.database.url)).toEqual([]);
    // What the zombie had stored before it was stopped it may still push; what it never stored it may not.
    const pushed = await webhook.find((body) => stateOf(body) === 'TASK_STATE_FAILED');
    const stored = new Set(atEnd.map((event) => canonical(JSON.parse(event.payload))));
    expect(pushed.map(canonical).filter((body) => !stored.has(body))).toEqual([]);
    expect(pushed.filter((body) => stateOf(body) === 'TASK_STATE_FAILED')).toHaveLength(1);
  }, 60_000);
});

describe.each(availableProviders())(
  'a replica cut off from the database for longer than the TTL, on %s',
  (provider) => {
    let testDatabase: TestDatabase;

    beforeAll(async () => {
      testDatabase = await createTestDatabase({ provider });
    });
    afterAll(() => testDatabase.drop());

    test('stops its executor before the lease expires, and drops what it says later', async () => {
      const rows = await Rows.open(testDatabase.url);
      const database = await createDatabase({ url: testDatabase.url, ttlMs: TTL_MS, poolSize: 4 });
      const cut = new CutOff();
      let stoppedAt = 0;
      let publishLate = (): void => {};
      const zombie = await startInProcess({
        database: cut.wrap(database),
        executor: agent(async (context, bus) => {
          const { signal } = context as unknown as { readonly signal: AbortSignal };
          bus.publish(taskEvent(context));
          bus.publish(statusEvent(context, TaskState.TASK_STATE_WORKING, 'working'));
          await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
          stoppedAt = performance.now();
          publishLate = () => bus.publish(statusEvent(context, TaskState.TASK_STATE_COMPLETED, 'late'));
        }),
      });
      const healthy = await startInProcess({
        databaseUrl: testDatabase.url,
        executor: agent(() => Promise.resolve()),
      });
      const caller = new Recording(zombie.client.stream({ text: 'go' }));
      const taskId = await caller.taskId();
      await caller.find((event) => textOf(event) === 'working');
      cut.cut();
      const cutAt = performance.now();
      const watcher = new Recording(healthy.client.subscribe(taskId));
      await watcher.find((event) => stateOf(event) === 'TASK_STATE_FAILED');
      expect(stoppedAt).toBeGreaterThan(0);
      expect(stoppedAt - cutAt).toBeLessThan(TTL_MS);
      cut.mend();
      publishLate();
      await caller.find((event) => stateOf(event) === 'TASK_STATE_FAILED');
      expect(await violations(testDatabase.url)).toEqual([]);
      expect((await rows.events(taskId)).some((event) => event.payload.includes('late'))).toBe(false);
      await Promise.all([zombie.close(), healthy.close()]);
      await database.close();
      await rows.close();
    }, 60_000);
  },
);

/** JSON with its keys in order, so that two encodings of one event are one string. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([one], [other]) => one.localeCompare(other)))
      : part,
  );
}

/** Stops the process; on SQLite a stop inside a write would stop every writer, so it is tried until it is not. */
async function stopBetweenWrites(kill: (signal: NodeJS.Signals) => void, rows: Rows): Promise<void> {
  for (;;) {
    kill('SIGSTOP');
    if (await rows.isWritable()) return;
    kill('SIGCONT');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Everything a replica asks of its database, until it is cut: then nothing is answered any more. */
class CutOff {
  private broken = false;
  private readonly waiting: (() => void)[] = [];

  cut(): void {
    this.broken = true;
  }

  mend(): void {
    this.broken = false;
    for (const go of this.waiting.splice(0)) go();
  }

  wrap(database: Database): Database {
    const part = <T extends object>(target: T): T =>
      new Proxy(target, {
        get: (object, name) => {
          const member: unknown = Reflect.get(object, name);
          if (typeof member !== 'function') return member;
          return async (...args: unknown[]): Promise<unknown> => {
            if (this.broken) await new Promise<void>((resolve) => this.waiting.push(resolve));
            return member.apply(object, args) as unknown;
          };
        },
      });
    const { journal, leases, log, tasks, pushConfigs, pushQueue, replicas, operators, retention } = database;
    return {
      ...database,
      provider: database.provider,
      hints: database.hints,
      journal: part(journal),
      leases: part(leases),
      log: part(log),
      tasks: part(tasks),
      pushConfigs: part(pushConfigs),
      pushQueue: part(pushQueue),
      replicas: part(replicas),
      operators: part(operators),
      retention: part(retention),
      check: (check) => database.check(check),
      ping: () => database.ping(),
      close: () => Promise.resolve(),
    };
  }
}
