import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import {
  availableProviders,
  createTestDatabase,
  migrationFiles,
  type TestDatabase,
} from '@a2a-cluster/testing';
import { compareMigrations } from '../../packages/db/src/migrations/compare-migrations.js';
import { deployMigrations } from '../../packages/db/src/migrations/deploy.js';
import { expectedMigrations } from '../../packages/db/src/migrations/expected.js';
import { fingerprint } from './support/fingerprint.js';
import { ledgerRows } from './support/ledger.js';
import { runPrisma } from './support/prisma-command.js';

// The command takes seconds, and a busy machine makes them many.
jest.setTimeout(240_000);
const names = (provider: 'sqlite' | 'postgresql' | 'mysql') =>
  migrationFiles(provider).map(({ name }) => name);

describe.each(availableProviders())('prisma migrate deploy on %s', (provider) => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase({ provider, exists: false, migrated: false });
  });
  afterAll(() => database.drop());

  test('two that race for a database that is not there make it and migrate it once', async () => {
    const racers = await Promise.all([1, 2].map(() => deployMigrations({ databaseUrl: database.url })));
    expect(racers.flatMap(({ applied }) => applied).sort()).toEqual(names(provider));
    expect((await ledgerRows(database.url)).map((row) => row.migration_name)).toEqual(names(provider));
  });

  test('the ledger is what this build expects', async () => {
    const comparison = compareMigrations(await ledgerRows(database.url), expectedMigrations[provider]);
    expect(comparison).toMatchObject({ state: 'current', missing: [] });
  });

  test('a further deploy, as a user types it, changes nothing', async () => {
    const before = await ledgerRows(database.url);
    const { code, output } = await runPrisma(database.url, ['migrate', 'deploy']);
    expect({ code, output }).toEqual({
      code: 0,
      output: expect.stringContaining('No pending migrations to apply'),
    });
    expect(await ledgerRows(database.url)).toEqual(before);
  });

  test('gives the very tables that test databases have', async () => {
    const quick = await createTestDatabase({ provider });
    try {
      expect(await fingerprint(provider, quick.url)).toEqual(await fingerprint(provider, database.url));
    } finally {
      await quick.drop();
    }
  });

  test('a database that is behind is reported, and brought up to date', async () => {
    const behind = await createTestDatabase({ provider, upTo: 3 });
    try {
      const missing = names(provider).slice(3);
      const found = compareMigrations(await ledgerRows(behind.url), expectedMigrations[provider]);
      expect(found).toMatchObject({ state: 'behind', missing });
      expect(await deployMigrations({ databaseUrl: behind.url })).toEqual({ applied: missing });
      expect(await fingerprint(provider, behind.url)).toEqual(await fingerprint(provider, database.url));
    } finally {
      await behind.drop();
    }
  });
});
