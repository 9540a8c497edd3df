import { afterEach, describe, expect, test } from '@jest/globals';
import {
  availableProviders,
  createTestDatabase,
  migrationFiles,
  type TestDatabase,
} from '@a2a-cluster/testing';
import { createDatabase } from '@a2a-cluster/db';
import { freePort, spawnReplica } from '../integration/support/replica-process.js';

/** The configuration, or the database's schema, has to be changed before a start can succeed. */
const EXIT_CONFIG = 78;

describe.each(availableProviders())('this version, on %s,', (provider) => {
  let database: TestDatabase | undefined;
  afterEach(() => database?.drop());
  const names = migrationFiles(provider).map(({ name }) => name);

  test.each(names.map((name, upTo) => ({ name, upTo })))(
    'refuses a database from before $name, and names what is missing and the command',
    async ({ upTo }) => {
      database = await createTestDatabase({ provider, upTo });
      const opened = await createDatabase({ url: database.url, ttlMs: 15_000 });
      try {
        const refused = opened.check({ maxEventBytes: 1_048_576 });
        await expect(refused).rejects.toMatchObject({
          code: 'SCHEMA_BEHIND',
          details: { state: 'behind', missing: names.slice(upTo) },
        });
        const message = await refused.then(
          () => '',
          (error: Error) => error.message,
        );
        for (const missing of names.slice(upTo)) expect(message).toContain(missing);
        expect(message).toContain('npx prisma migrate deploy');
      } finally {
        await opened.close();
      }
    },
  );

  test('does not start one step behind: the process ends with the code for what must be changed first', async () => {
    database = await createTestDatabase({ provider, upTo: names.length - 1 });
    const replica = spawnReplica({ databaseUrl: database.url }, await freePort());
    expect(await replica.exited).toBe(EXIT_CONFIG);
    const said = [...replica.errors, ...replica.logs.map((line) => JSON.stringify(line))].join('\n');
    expect(said).toContain(names.at(-1));
    expect(said).toContain('npx prisma migrate deploy');
  });
});
