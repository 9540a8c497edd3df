import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  availableProviders,
  createTestDatabase,
  openRaw,
  type TestDatabase,
  type TestProvider,
} from '@a2a-cluster/testing';
import { violations } from './support/invariants.js';
import { Recording, stateOf } from './support/recording.js';
import { startReplica, TTL_MS, type ReplicaProcess } from './support/replica-process.js';
import { startTcpProxy } from './support/tcp-proxy.js';
import { waitUntil } from './support/wait-until.js';

/** The way to a database that can be taken away and given back. */
interface Door {
  readonly url: string;
  shut(): Promise<void>;
  open(): Promise<void>;
  close(): Promise<void>;
}

/** A server is behind a proxy; a file is taken away by whoever holds its write lock. */
async function doorTo(provider: TestProvider, url: string): Promise<Door> {
  if (provider === 'sqlite') {
    const raw = await openRaw(url);
    return {
      url,
      shut: () => raw.run('BEGIN EXCLUSIVE'),
      open: () => raw.run('ROLLBACK'),
      close: () => raw.close(),
    };
  }
  const { hostname, port } = new URL(url);
  const proxy = await startTcpProxy({
    host: hostname,
    port: Number(port || (provider === 'mysql' ? 3306 : 5432)),
  });
  return {
    url: proxy.through(url),
    shut: () => Promise.resolve(proxy.shut()),
    open: () => Promise.resolve(proxy.open()),
    close: () => proxy.close(),
  };
}

const providers = availableProviders();

describe.each(providers)('a replica whose database is lost and comes back, on %s', (provider) => {
  let database: TestDatabase;
  let door: Door;
  let replica: ReplicaProcess;
  let witness: ReplicaProcess;

  beforeAll(async () => {
    database = await createTestDatabase({ provider });
    door = await doorTo(provider, database.url);
    replica = await startReplica({ databaseUrl: door.url, name: 'cut' });
    witness = await startReplica({ databaseUrl: database.url, name: 'witness' });
  });
  afterAll(async () => {
    await replica.end();
    await witness.end();
    await door.close();
    await database.drop();
  });

  const readiness = async (): Promise<number> => (await fetch(`${replica.base}/readyz`)).status;

  test('says so, stays alive, stops its turn, and works again without a restart', async () => {
    const caller = new Recording(replica.client.stream({ text: 'sleep 60000' }));
    const taskId = await caller.taskId();
    await door.shut();
    await replica.log((line) => line.msg === 'lost the turn' && line['taskId'] === taskId);
    // A file whose write lock is held can still be read: only the turn is lost.
    if (provider !== 'sqlite') {
      await waitUntil({
        what: 'not ready',
        limitMs: TTL_MS * 2,
        ask: async () => ((await readiness()) === 503 ? true : undefined),
      });
      const answer = await replica.client.get(taskId);
      expect(answer.error).toMatchObject({
        code: -32603,
        data: [{ metadata: { reason: 'STORE_UNAVAILABLE' } }],
      });
      expect(JSON.stringify(answer)).not.toMatch(/127\.0\.0\.1|ECONN|postgres|root/);
    }
    expect((await fetch(`${replica.base}/livez`)).status).toBe(200);
    await door.open();
    await waitUntil({
      what: 'ready again',
      limitMs: TTL_MS * 4,
      ask: async () => ((await readiness()) === 200 ? true : undefined),
    });
    await caller.find((event) => stateOf(event) === 'TASK_STATE_FAILED');
    expect(await caller.ended).toBeNull();
    const after = await replica.client.send({ text: 'tick 2 20; done again' });
    expect(after.result?.task?.status.state).toBe('TASK_STATE_COMPLETED');
    expect((await witness.client.get(taskId)).result?.status.state).toBe('TASK_STATE_FAILED');
    expect(await violations(database.url)).toEqual([]);
  }, 90_000);
});
