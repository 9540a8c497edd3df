import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { TaskState } from '@a2a-js/sdk';
import { createDatabase, type Database } from '@a2a-cluster/db';
import { availableProviders, createTestDatabase, type TestDatabase } from '@a2a-cluster/testing';
import { statusEvent, taskEvent } from './support/events.js';
import { agent, startInProcess, type InProcessReplica } from './support/replica-in-process.js';
import { HEARTBEAT_MS, TTL_MS } from './support/replica-process.js';

/** A database that counts what is asked of it, by the name of the statement. */
function counting(database: Database): { readonly database: Database; readonly counts: Map<string, number> } {
  const counts = new Map<string, number>();
  const part = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(object, name) {
        const member: unknown = Reflect.get(object, name);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]): unknown => {
          counts.set(String(name), (counts.get(String(name)) ?? 0) + 1);
          return member.apply(object, args) as unknown;
        };
      },
    });
  const { journal, leases, log, tasks, pushConfigs, pushQueue, replicas, operators, retention } = database;
  const parts: Record<string | symbol, unknown> = {
    journal: part(journal),
    leases: part(leases),
    log: part(log),
    tasks: part(tasks),
    pushConfigs: part(pushConfigs),
    pushQueue: part(pushQueue),
    replicas: part(replicas),
    operators: part(operators),
    retention: part(retention),
  };
  const counted = new Proxy(database, {
    get(target, name) {
      if (name in parts) return parts[name];
      const member: unknown = Reflect.get(target, name);
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
  return { database: counted, counts };
}

describe.each(availableProviders())('a follow-up that waits for a holder to let go, on %s', (provider) => {
  let testDatabase: TestDatabase;
  let database: Database;
  let counts: Map<string, number>;
  let holder: InProcessReplica;
  let waiting: InProcessReplica;

  const executor = agent(async (context, bus) => {
    bus.publish(taskEvent(context));
    if (context.task) return bus.publish(statusEvent(context, TaskState.TASK_STATE_COMPLETED));
    bus.publish(statusEvent(context, TaskState.TASK_STATE_INPUT_REQUIRED));
    await new Promise((resolve) => setTimeout(resolve, HEARTBEAT_MS * 0.6));
  });

  beforeAll(async () => {
    testDatabase = await createTestDatabase({ provider });
    database = await createDatabase({ url: testDatabase.url, ttlMs: TTL_MS, poolSize: 4 });
    const counted = counting(database);
    counts = counted.counts;
    holder = await startInProcess({ databaseUrl: testDatabase.url, executor });
    waiting = await startInProcess({ database: counted.database, executor });
  });
  afterAll(async () => {
    await holder.close();
    await waiting.close();
    await database.close();
    await testDatabase.drop();
  });

  test('asks to open its turn twice, once before and once after, and nothing of its own between', async () => {
    const asked = await holder.client.send({ text: 'go' });
    const taskId = asked.result!.task!.id;
    counts.clear();
    const answer = await waiting.client.send({ text: 'on', taskId });
    expect(answer.result?.task?.status.state).toBe('TASK_STATE_COMPLETED');
    expect(counts.get('openTurn')).toBe(2);
    // The task is read once, after the lease was taken; all else is the dispatcher's, the sweeper's and the turn's.
    expect(counts.get('readTask')).toBe(1);
    expect(counts.get('look') ?? 0).toBe(0);
    expect(counts.get('readLeases') ?? 0).toBe(0);
    expect(counts.get('findMessage') ?? 0).toBe(0);
  });
});
