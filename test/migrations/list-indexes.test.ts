import { describe, expect, jest, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import {
  availableProviders,
  createTestDatabase,
  migrationFiles,
  openRaw,
  workspaceRoot,
} from '@a2a-cluster/testing';
import { deployMigrations } from '../../packages/db/src/migrations/deploy.js';
import { fingerprint } from './support/fingerprint.js';

jest.setTimeout(240_000);

describe.each(availableProviders().filter((one) => one === 'postgresql'))('on %s', (provider) => {
  test('the indexes of lists may be built beforehand as the README says, without a lock', async () => {
    const readme = readFileSync(`${workspaceRoot}prisma/README.md`, 'utf8');
    const statements = readme.match(/^CREATE INDEX CONCURRENTLY .*;$/gm) ?? [];
    expect(statements).toHaveLength(3);
    const at = migrationFiles(provider).findIndex(({ name }) => name.endsWith('_task_list_indexes'));
    const [prepared, plain] = await Promise.all([
      createTestDatabase({ provider, upTo: at }),
      createTestDatabase({ provider }),
    ]);
    try {
      const raw = await openRaw(prepared.url);
      for (const statement of statements) await raw.run(statement);
      await raw.close();
      await deployMigrations({ databaseUrl: prepared.url });
      expect(await fingerprint(provider, prepared.url)).toEqual(await fingerprint(provider, plain.url));
    } finally {
      await Promise.all([prepared.drop(), plain.drop()]);
    }
  });
});
