import { describe, expect, jest, test } from '@jest/globals';
import { availableProviders, createTestDatabase, migrationFiles, openRaw } from '@a2a-cluster/testing';
import { compareMigrations } from '../../packages/db/src/migrations/compare-migrations.js';
import { expectedMigrations } from '../../packages/db/src/migrations/expected.js';
import { fingerprint } from './support/fingerprint.js';
import { ledgerRows } from './support/ledger.js';
import { runPrisma } from './support/prisma-command.js';

// The command takes seconds, and a busy machine makes them many.
jest.setTimeout(240_000);

async function run(url: string, script: string): Promise<void> {
  const raw = await openRaw(url);
  await raw.run(script);
  await raw.close();
}

describe.each(availableProviders())('a migration that fails on %s', (provider) => {
  const name = migrationFiles(provider)[3]?.name ?? '';

  test('is recorded, stops the next deploy, and goes through once it was repaired and resolved', async () => {
    const database = await createTestDatabase({ provider, upTo: 3 });
    const deploy = () => runPrisma(database.url, ['migrate', 'deploy']);
    try {
      await run(database.url, 'CREATE TABLE task_leases (in_the_way INTEGER)');

      expect(await deploy()).toEqual({
        code: 1,
        output: expect.stringMatching(new RegExp(`already exists[^]*${name}|${name}[^]*already exists`)),
      });
      const found = compareMigrations(await ledgerRows(database.url), expectedMigrations[provider]);
      expect(found).toMatchObject({ state: 'failed', message: expect.stringContaining(name) });
      expect(await deploy()).toEqual({
        code: 1,
        output: expect.stringMatching(new RegExp(`P3009[^]*${name}`)),
      });

      await run(database.url, 'DROP TABLE task_leases');
      const resolved = await runPrisma(database.url, ['migrate', 'resolve', '--rolled-back', name]);
      expect(resolved).toMatchObject({ code: 0 });
      expect(await deploy()).toMatchObject({ code: 0 });
      const repaired = compareMigrations(await ledgerRows(database.url), expectedMigrations[provider]);
      expect(repaired.state).toBe('current');
      expect(Object.keys(await fingerprint(provider, database.url))).toContain('task_leases');
    } finally {
      await database.drop();
    }
  });
});
