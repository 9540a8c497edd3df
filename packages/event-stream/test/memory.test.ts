import { createMemoryDatabase, type Database } from '@a2a-cluster/db';
import { describeEventStreamContract } from '../src/contract/index.js';

/** A memory database has no way to remove a task; for the streams, one that is not read is not there. */
function withPurge(database: Database, purged: ReadonlySet<string>): Database {
  const { log } = database;
  return {
    ...database,
    log: {
      ...log,
      readHeads: async (ids) => (await log.readHeads(ids)).filter(({ taskId }) => !purged.has(taskId)),
      readEvents: async (page) => (purged.has(page.taskId) ? [] : log.readEvents(page)),
    },
  };
}

describeEventStreamContract({
  name: 'memory',
  open: async () => {
    const purged = new Set<string>();
    const database = withPurge(createMemoryDatabase(), purged);
    return {
      first: database,
      second: database,
      purge: async (taskId) => void purged.add(taskId),
      close: () => database.close(),
    };
  },
});
