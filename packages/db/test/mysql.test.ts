import { createTestDatabase, openRaw } from '@a2a-cluster/testing';
import { createDatabase } from '../src/create-database.js';
import { createSqlTamper } from '../src/contract/fixture.js';
import { describeDatabaseContract } from '../src/contract/index.js';
import { LONG_TTL_MS } from '../src/contract/context.js';

describeDatabaseContract({
  name: 'MariaDB',
  async open() {
    const database = await createTestDatabase({ provider: 'mysql' });
    const raw = await openRaw(database.url);
    const open = () => createDatabase({ url: database.url, ttlMs: LONG_TTL_MS, poolSize: 6 });
    const [db, other] = [await open(), await open()];
    return {
      db,
      second: async () => other,
      tamper: createSqlTamper('mysql', (sql) => raw.query(sql)),
      async close() {
        await Promise.all([db.close(), other.close(), raw.close()]);
        await database.drop();
      },
    };
  },
});
