import { describe, expect, test } from '@jest/globals';
import { existsSync } from 'node:fs';
import { availableProviders, createTestDatabase, migrationFiles, openRaw } from '../src/index.js';

describe.each(availableProviders())('a test database on %s', (provider) => {
  test('has every table and a ledger that names every migration', async () => {
    const database = await createTestDatabase({ provider });
    try {
      const raw = await openRaw(database.url);
      const rows = await raw.query(
        'SELECT migration_name, checksum FROM _prisma_migrations ORDER BY migration_name',
      );
      for (const table of [
        'tasks',
        'task_snapshots',
        'task_events',
        'task_leases',
        'push_dead_letters',
        'push_notification_configs',
      ]) {
        expect(await raw.query(`SELECT * FROM ${table}`)).toEqual([]);
      }
      await raw.close();
      const files = migrationFiles(provider).map(({ name, checksum }) => ({
        migration_name: name,
        checksum,
      }));
      expect(rows).toEqual(files);
    } finally {
      await database.drop();
    }
  });

  test('is one of its own for every caller, and gone after drop even with a connection open', async () => {
    const [one, two] = await Promise.all([
      createTestDatabase({ provider }),
      createTestDatabase({ provider }),
    ]);
    expect(one.url).not.toBe(two.url);
    const open = await openRaw(one.url);
    await Promise.all([one.drop(), two.drop()]);
    await one.drop();
    await open.close().catch(() => {});
    if (provider === 'sqlite') expect(existsSync(one.url.slice('file:'.length))).toBe(false);
    else await expect(openRaw(one.url)).rejects.toThrow();
  });

  test('can be left behind by some migrations', async () => {
    const database = await createTestDatabase({ provider, upTo: 3 });
    const raw = await openRaw(database.url);
    await expect(raw.query('SELECT * FROM task_leases')).rejects.toThrow();
    expect(await raw.query('SELECT * FROM task_events')).toEqual([]);
    await raw.close();
    await database.drop();
  });
});
