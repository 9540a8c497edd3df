import { createTestDatabase, openRaw } from '@a2a-cluster/testing';
import { createSqlTamper } from '../src/contract/fixture.js';
import { describeDatabaseContract } from '../src/contract/index.js';
import { createSqliteDatabase } from '../src/sqlite/database.js';

describeDatabaseContract({
  name: 'SQLite',
  async open() {
    const { url, drop } = await createTestDatabase({ provider: 'sqlite' });
    const open = () => createSqliteDatabase({ url, ttlMs: 15_000 });
    const [db, second] = [await open(), await open()];
    const raw = await openRaw(url);
    return {
      db,
      second: async () => second,
      tamper: createSqlTamper('sqlite', (sql) => raw.run(sql)),
      async close() {
        await Promise.all([db.close(), second.close(), raw.close()]);
        await drop();
      },
    };
  },
});
