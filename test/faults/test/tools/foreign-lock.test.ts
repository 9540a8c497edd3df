import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import {
  availableProviders,
  createTestDatabase,
  openRaw,
  type RawConnection,
  type TestDatabase,
} from '@a2a-cluster/testing';
import { lockRows, terminateBackends, type ForeignLock } from '../../src/tools/foreign-lock.js';

const addTask = (id: string): string =>
  `INSERT INTO tasks (id, tenant, owner, context_id, state, version) VALUES ('${id}', '', 'alice', 'c', 'TASK_STATE_WORKING', 1)`;

describe.each(availableProviders())('on %s', (provider) => {
  let database: TestDatabase;
  let lock: ForeignLock | undefined;
  let other: RawConnection;

  beforeAll(async () => {
    database = await createTestDatabase({ provider });
    const raw = await openRaw(database.url);
    await raw.run(addTask('locked'));
    await raw.run(addTask('free'));
    await raw.close();
  });
  afterEach(async () => {
    await lock?.release();
    await other.close();
  });
  afterAll(() => database.drop());

  test('a locked row waits for its release, others do not', async () => {
    other = await openRaw(database.url);
    const limit = {
      postgresql: "SET lock_timeout = '300ms'",
      mysql: 'SET innodb_lock_wait_timeout = 1',
      sqlite: 'PRAGMA busy_timeout = 300',
    }[provider];
    await other.run(limit);
    lock = await lockRows({ url: database.url, table: 'tasks', taskIds: ['locked', 'not there'] });
    const move = (id: string): Promise<void> =>
      other.run(`UPDATE tasks SET version = version + 1 WHERE id = '${id}'`);
    await expect(move('locked')).rejects.toThrow(/lock/i);
    if (provider !== 'sqlite') await move('free');
    await lock.release();
    await lock.release();
    await move('locked');
  });

  test('connections of this database are ended by share, never of another one', async () => {
    other = await openRaw(database.url);
    const elsewhere = await createTestDatabase({ provider, migrated: false });
    const stranger = await openRaw(elsewhere.url);
    await other.query('SELECT 1');
    const url = database.url;
    expect(await terminateBackends({ url, share: 0.5, random: () => 0.9 })).toBe(0);
    const ended = await terminateBackends({ url, share: 0.5, random: () => 0.1 });
    expect(ended).toBe(provider === 'sqlite' ? 0 : 1);
    if (provider !== 'sqlite') await expect(other.query('SELECT 1')).rejects.toThrow();
    expect(await stranger.query('SELECT 1 AS one')).toHaveLength(1);
    await stranger.close();
    await elsewhere.drop();
  });
});
