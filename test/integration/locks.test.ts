import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { TaskState } from '@a2a-js/sdk';
import { createDatabase } from '@a2a-cluster/db';
import {
  availableProviders,
  createTestDatabase,
  openRaw,
  type RawConnection,
  type TestDatabase,
} from '@a2a-cluster/testing';
import { statusEvent, taskEvent } from './support/events.js';
import { violations } from './support/invariants.js';
import { Recording, stateOf } from './support/recording.js';
import { agent, startInProcess, type InProcessReplica } from './support/replica-in-process.js';
import { TTL_MS } from './support/replica-process.js';
import { seedTask } from './support/seeds.js';
import { waitUntil } from './support/wait-until.js';

const TURNS = 1_000;
/** Longest that `protocol` 3.12 lets a client that stopped inside a transaction hold its locks. */
const LOCK_LIMIT_MS = Math.max(1_000, TTL_MS / 3);

const servers = availableProviders().flatMap((provider) => (provider === 'sqlite' ? [] : [provider]));

for (const provider of servers) {
  describe(`rows that somebody else has locked, on ${provider}`, () => {
    let testDatabase: TestDatabase;
    let replica: InProcessReplica;
    let other: InProcessReplica;
    let finish: () => void = () => {};

    beforeAll(async () => {
      testDatabase = await createTestDatabase({ provider });
      const gate = new Promise<void>((resolve) => (finish = resolve));
      const executor = agent(async (context, bus) => {
        bus.publish(taskEvent(context));
        await gate;
        bus.publish(statusEvent(context, TaskState.TASK_STATE_COMPLETED));
      });
      replica = await startInProcess({ databaseUrl: testDatabase.url, executor });
      other = await startInProcess({ databaseUrl: testDatabase.url, executor });
    });
    afterAll(async () => {
      await replica.close();
      await other.close();
      await testDatabase.drop();
    });

    test('one locked lease loses its turn; the other thousand are renewed', async () => {
      const ids: string[] = [];
      for (let index = 0; index < TURNS + 1; index += 50) {
        const sends = Array.from({ length: Math.min(50, TURNS + 1 - index) }, () =>
          replica.client.send({ text: 'go', configuration: { returnImmediately: true } }),
        );
        for (const answer of await Promise.all(sends)) ids.push(answer.result!.task!.id);
      }
      const locker = await openRaw(testDatabase.url);
      await locker.run('START TRANSACTION');
      await locker.query(`SELECT holder FROM task_leases WHERE task_id = '${ids[0]}' FOR UPDATE`);
      const started = performance.now();
      while (performance.now() - started < TTL_MS * 2) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        await locker.query('SELECT 1');
      }
      expect(replica.cluster.status().heldLeases).toBe(TURNS);
      await locker.run('ROLLBACK');
      const lost = new Recording(other.client.subscribe(ids[0]!));
      const ended = await lost.ended;
      if (ended === null) expect(lost.states().at(-1)).toBe('TASK_STATE_FAILED');
      finish();
      await Promise.all(
        ids.slice(1, 21).map(async (taskId) => {
          const watcher = new Recording(replica.client.subscribe(taskId));
          await watcher.ended;
          expect((await other.client.get(taskId)).result?.status.state).toBe('TASK_STATE_COMPLETED');
        }),
      );
      await locker.close();
      const idle = (): Promise<true | undefined> =>
        Promise.resolve(replica.cluster.status().runningTurns === 0 || undefined);
      await waitUntil({ what: 'every turn has ended', limitMs: 30_000, ask: idle });
    }, 120_000);

    test('a client stopped inside a transaction delays a sweep by no more than the limits', async () => {
      const database = await createDatabase({ url: testDatabase.url, ttlMs: TTL_MS, poolSize: 2 });
      const taskId = await seedTask(database, { state: TaskState.TASK_STATE_WORKING, ttlMs: 500 });
      const stopped = await stopInsideTransaction({ provider, url: testDatabase.url, taskId });
      const stoppedAt = performance.now();
      const watcher = new Recording(other.client.subscribe(taskId));
      await watcher.find((event) => stateOf(event) === 'TASK_STATE_FAILED');
      expect(performance.now() - stoppedAt).toBeLessThan(500 + LOCK_LIMIT_MS + 2_000);
      await stopped.close();
      await database.close();
      expect(await violations(testDatabase.url)).toEqual([]);
    }, 60_000);
  });
}

/** What ends a stopped client of ours on the server: the same limits that every connection of a replica sets. */
const limits = {
  postgresql: `SET idle_in_transaction_session_timeout = ${LOCK_LIMIT_MS}`,
  mysql: `SET SESSION idle_transaction_timeout = ${Math.ceil(LOCK_LIMIT_MS / 1_000)}`,
};

/** A client with the limits of a replica that has locked the task and its lease, and says nothing more. */
async function stopInsideTransaction(options: {
  readonly provider: keyof typeof limits;
  readonly url: string;
  readonly taskId: string;
}): Promise<RawConnection> {
  const { provider, url, taskId } = options;
  const stopped = await openRaw(url);
  await stopped.run(limits[provider]);
  await stopped.run('START TRANSACTION');
  await stopped.query(`SELECT id FROM tasks WHERE id = '${taskId}' FOR UPDATE`);
  await stopped.query(`SELECT task_id FROM task_leases WHERE task_id = '${taskId}' FOR UPDATE`);
  return stopped;
}
