import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import {
  availableProviders,
  createTestDatabase,
  migrationFiles,
  openRaw,
  workspaceRoot,
  type TestDatabase,
} from '@a2a-cluster/testing';
import { deployMigrations } from '../../packages/db/src/migrations/deploy.js';
import { fingerprint } from './support/fingerprint.js';
import { ledgerRows } from './support/ledger.js';
import { runPrisma } from './support/prisma-command.js';

const sdkStore = `
  CREATE TABLE tasks (tenant VARCHAR(99), owner VARCHAR(99), id VARCHAR(99), status_state VARCHAR(99));
  CREATE TABLE push_notification_configs (tenant VARCHAR(99), task_id VARCHAR(99), config_data TEXT);`;
const otherLedger = `
  CREATE TABLE invoices (id INTEGER);
  CREATE TABLE _prisma_migrations (id VARCHAR(36) PRIMARY KEY NOT NULL, checksum VARCHAR(64) NOT NULL,
    finished_at TIMESTAMP NULL, migration_name VARCHAR(255) NOT NULL, logs TEXT, rolled_back_at TIMESTAMP NULL,
    started_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, applied_steps_count INTEGER NOT NULL DEFAULT 0);
  INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count)
    VALUES ('1', 'x', '20240101000000_invoices', CURRENT_TIMESTAMP, 1);`;

async function fill(url: string, script: string): Promise<void> {
  const raw = await openRaw(url);
  await raw.run(script);
  await raw.close();
}

// The command takes seconds, and a busy machine makes them many.
jest.setTimeout(240_000);
const providers = availableProviders();

describe.each(providers)('a database of somebody else on %s', (provider) => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await createTestDatabase({ provider, migrated: false });
  });
  afterEach(() => database.drop());

  test("the SDK's own store is named, refused and left as it was", async () => {
    await fill(database.url, sdkStore);
    const before = await fingerprint(provider, database.url);
    const { code, output } = await runPrisma(database.url, ['migrate', 'deploy']);
    expect(code).toBe(1);
    expect(output).toContain('the task store of @a2a-js/sdk (tables push_notification_configs, tasks)');
    expect(output).toMatch(/nothing in it was changed[\s\S]*DATABASE_URL="/);
    expect(await fingerprint(provider, database.url)).toEqual(before);
    await expect(ledgerRows(database.url)).rejects.toThrow(/_prisma_migrations/);
  });

  test("another Prisma application's ledger is named, refused and left as it was", async () => {
    await fill(database.url, otherLedger);
    const rows = await ledgerRows(database.url);
    await expect(deployMigrations({ databaseUrl: database.url })).rejects.toMatchObject({
      code: 'SCHEMA_FOREIGN',
      message: expect.stringMatching(/another Prisma application \(20240101000000_invoices\)/),
    });
    expect(Object.keys(await fingerprint(provider, database.url))).toEqual(['invoices']);
    expect(await ledgerRows(database.url)).toEqual(rows);
  });
});

test('with another engine than the stand-in it is refused before that starts', async () => {
  const database = await createTestDatabase({ provider: 'sqlite', migrated: false });
  try {
    await fill(database.url, otherLedger);
    const engine = `${workspaceRoot}scripts/schema-engine/main.mjs`;
    const { code, output } = await runPrisma(database.url, ['migrate', 'deploy'], {
      PRISMA_SCHEMA_ENGINE_BINARY: engine,
    });
    expect({ code, output }).toEqual({ code: 1, output: expect.stringContaining('Error: P3005') });
    expect(output).not.toContain('migrations found');
  } finally {
    await database.drop();
  }
});

for (const provider of providers.filter((one) => one === 'postgresql')) {
  test('beside it on PostgreSQL a schema of its own is made and migrated, and the neighbour stays', async () => {
    const database = await createTestDatabase({ provider, migrated: false });
    try {
      await fill(database.url, sdkStore);
      const before = await fingerprint(provider, database.url);
      const ours = `${database.url}?schema=${encodeURIComponent('a2a "cluster" 1')}`;
      const all = migrationFiles(provider).map(({ name }) => name);
      expect((await deployMigrations({ databaseUrl: ours })).applied).toEqual(all);
      expect((await deployMigrations({ databaseUrl: ours })).applied).toEqual([]);
      expect(await fingerprint(provider, database.url)).toEqual(before);
      const raw = await openRaw(database.url);
      const tables = await raw.query(
        `SELECT count(*)::int AS n FROM pg_tables WHERE schemaname = 'a2a "cluster" 1'`,
      );
      await raw.close();
      expect(tables).toEqual([{ n: 8 }]);
    } finally {
      await database.drop();
    }
  });
}
