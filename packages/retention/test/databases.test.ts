import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createDatabase, type Database } from '@a2a-cluster/db';
import { createTaskReader } from '@a2a-cluster/task-store';
import { availableProviders, createTestDatabase, type TestDatabase } from '@a2a-cluster/testing';
import { createEndedTask, createHarness, eventsOf } from './harness.js';

const TASKS = 60;

describe.each(availableProviders())('three that prune at once on %s', (provider) => {
  let target: TestDatabase;
  const databases: Database[] = [];

  beforeAll(async () => {
    target = await createTestDatabase({ provider });
    for (let n = 0; n < 3; n += 1)
      databases.push(await createDatabase({ url: target.url, ttlMs: 15_000, poolSize: 3 }));
  });

  afterAll(async () => {
    await Promise.all(databases.map((database) => database.close()));
    await target.drop();
  });

  test('take each event and each task once, and leave what readers see', async () => {
    const [db] = databases as [Database];
    const ids = Array.from({ length: TASKS }, (_, at) => `task ${at}`);
    for (const taskId of ids) await createEndedTask(db, { taskId, chunks: 8 });
    const reader = createTaskReader({ database: db });
    const before = await Promise.all(ids.map((taskId) => reader.read({ taskId })));
    const harnesses = databases.map((database) => createHarness({ database, retention: { batchSize: 7 } }));
    await pruneUntil(harnesses, async () => (await eventsLeft(db, ids)) === 0);
    const events = harnesses.map(({ tally }) => tally.total('pruned_total', { what: 'events' }));
    expect(events.reduce((sum, count) => sum + count, 0)).toBe(10 * TASKS);
    expect(await Promise.all(ids.map((taskId) => reader.read({ taskId })))).toEqual(before);
    const purging = databases.map((database) =>
      createHarness({ database, retention: { tasksMs: 1, batchSize: 7 } }),
    );
    await pruneUntil(purging, async () => (await db.log.readHeads(ids)).length === 0);
    const tasks = purging.map(({ tally }) => tally.total('pruned_total', { what: 'tasks' }));
    expect(tasks.reduce((sum, count) => sum + count, 0)).toBe(TASKS);
  });
});

/** All of them, again and again: rows that one has locked are passed over by the others. */
async function pruneUntil(
  harnesses: readonly ReturnType<typeof createHarness>[],
  done: () => Promise<boolean>,
): Promise<void> {
  do await Promise.all(harnesses.map(({ retention }) => retention.runOnce()));
  while (!(await done()));
}

async function eventsLeft(db: Database, ids: readonly string[]): Promise<number> {
  const counts = await Promise.all(ids.map((taskId) => eventsOf(db, taskId)));
  return counts.reduce((sum, count) => sum + count, 0);
}
