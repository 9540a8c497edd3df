import { describe, expect, jest, test } from '@jest/globals';
import { availableProviders, createTestDatabase, migrationFiles, openRaw } from '@a2a-cluster/testing';
import { recordingOf, releases } from './support/recording.js';
import { replay } from './support/replay.js';

jest.setTimeout(240_000);

describe.each(releases)('what replicas of %s send', (release) => {
  test.each(availableProviders())(
    'ends on the tables of now as it did on theirs, on %s',
    async (provider) => {
      const recording = recordingOf(release, provider);
      const names = migrationFiles(provider).map(({ name }) => name);
      // Migrations are only ever added.
      expect(names.slice(0, recording.migrations.length)).toEqual(recording.migrations);
      const database = await createTestDatabase({ provider });
      try {
        const { calls, failures, withoutEffect } = await replay({ recording, url: database.url });
        expect(calls).toBeGreaterThan(300);
        expect(failures).toEqual([]);
        expect(withoutEffect).toEqual([]);
      } finally {
        await database.drop();
      }
    },
  );
});

test.each(availableProviders())(
  'a schema that old replicas cannot use would be noticed on %s',
  async (provider) => {
    const database = await createTestDatabase({ provider });
    try {
      const raw = await openRaw(database.url);
      await raw.run('ALTER TABLE task_leases RENAME COLUMN acquired_at TO taken_at');
      await raw.close();
      const recording = recordingOf(releases.at(-1) ?? '', provider);
      const { failures } = await replay({ recording, url: database.url });
      expect(failures.map(({ sql }) => sql).join()).toContain('acquired_at');
    } finally {
      await database.drop();
    }
  },
);
