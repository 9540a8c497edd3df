import { createDatabase } from '@a2a-cluster/db';
import { availableProviders, createTestDatabase, openRaw } from '@a2a-cluster/testing';
import { describeEventStreamContract } from '../src/contract/index.js';

for (const provider of availableProviders()) {
  describeEventStreamContract({
    name: provider,
    open: async () => {
      const made = await createTestDatabase({ provider });
      const options = { url: made.url, ttlMs: 15_000, poolSize: 3 };
      const [first, second] = [await createDatabase(options), await createDatabase(options)];
      const raw = await openRaw(made.url);
      return {
        first,
        second,
        purge: async (taskId) => {
          for (const [table, key] of [
            ['task_events', 'task_id'],
            ['task_leases', 'task_id'],
            ['tasks', 'id'],
          ]) {
            await raw.run(`DELETE FROM ${table} WHERE ${key} = '${taskId}'`);
          }
        },
        close: async () => {
          await Promise.all([first.close(), second.close(), raw.close()]);
          await made.drop();
        },
      };
    },
  });
}
