import { createTestDatabase, openRaw } from '@a2a-cluster/testing';
import { createSqlTamper } from '../src/contract/fixture.js';
import { describeDatabaseContract } from '../src/contract/index.js';
import { createPostgresDatabase } from '../src/postgresql/database.js';

describeDatabaseContract({
  name: 'PostgreSQL',
  async open() {
    const server = await createTestDatabase({ provider: 'postgresql' });
    const open = () => createPostgresDatabase({ url: server.url, ttlMs: 15_000, poolSize: 4 });
    const [db, second] = [await open(), await open()];
    const raw = await openRaw(server.url);
    return {
      db,
      second: async () => second,
      tamper: createSqlTamper('postgresql', (sql) => raw.run(sql)),
      async close() {
        await Promise.all([db.close(), second.close(), raw.close()]);
        await server.drop();
      },
    };
  },
});
