import { describe, expect, jest, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import {
  availableProviders,
  createTestDatabase,
  migrationFiles,
  openRaw,
  workspaceRoot,
} from '@a2a-cluster/testing';
import { fingerprint } from './support/fingerprint.js';
import { headerProblems } from './support/header.js';
import { mysqlDrift } from './support/mysql-drift.js';
import { runPrisma } from './support/prisma-command.js';

// The command takes seconds, and a busy machine makes them many.
jest.setTimeout(240_000);
const providers = availableProviders();

describe.each(providers)('the tables on %s', (provider) => {
  test('task_leases comes alone: its migration changes no other table', async () => {
    const at = migrationFiles(provider).findIndex(({ name }) => name.endsWith('_task_leases'));
    const database = await createTestDatabase({ provider, upTo: at });
    try {
      const before = await fingerprint(provider, database.url);
      const raw = await openRaw(database.url);
      await raw.run(migrationFiles(provider)[at]?.sql ?? '');
      await raw.close();
      const { task_leases: leases, ...others } = await fingerprint(provider, database.url);
      expect(leases?.length).toBeGreaterThan(0);
      expect(others).toEqual(before);
    } finally {
      await database.drop();
    }
  });

  test('the database itself fills created_at, with milliseconds', async () => {
    const database = await createTestDatabase({ provider });
    const raw = await openRaw(database.url);
    try {
      const insert = (
        seq: number,
      ) => `INSERT INTO task_events (task_id, seq, kind, payload, write_id, holder, epoch)
        VALUES ('t', ${seq}, 'task', '{}', 'w', 'h', 1)`;
      for (let seq = 1; seq <= 20; seq += 1) await raw.run(insert(seq));
      const rows = await raw.query('SELECT created_at FROM task_events');
      const moments = rows.map((row) => Number(row['created_at']));
      expect(moments.every((moment) => Math.abs(moment - Date.now()) < 60_000)).toBe(true);
      expect(moments.some((moment) => moment % 1000 !== 0)).toBe(true);
    } finally {
      await raw.close();
      await database.drop();
    }
  });

  test('ids compare byte for byte, and the same message is found a second time', async () => {
    const database = await createTestDatabase({ provider });
    const raw = await openRaw(database.url);
    try {
      const insert = (task: string, seq: number, message: string) =>
        raw.run(`INSERT INTO task_events (task_id, seq, kind, payload, write_id, message_id, holder, epoch)
          VALUES ('${task}', ${seq}, 'message', '{}', 'w', ${message}, 'h', 1)`);
      for (const task of ['a', 'A', 'ä', 'a\u0308']) await insert(task, 1, `'m'`);
      await insert('a', 2, 'NULL');
      await insert('a', 3, 'NULL');
      await insert('a', 4, `'M'`);
      await expect(insert('a', 5, `'m'`)).rejects.toThrow(/unique|duplicate/i);
    } finally {
      await raw.close();
      await database.drop();
    }
  });

  test('no trigger, no foreign key, nothing indexed that changes with every event', async () => {
    const sql = migrationFiles(provider)
      .map((file) => file.sql.replace(/^--.*$/gm, ''))
      .join('\n');
    expect(sql).not.toMatch(/FOREIGN KEY|REFERENCES|TRIGGER/i);
    expect(sql).not.toMatch(/INDEX[^;\n]*\((?:[^;\n)]*,\s*)?["`](version|updated_at)["`]/i);
  });

  test.each(migrationFiles(provider))(
    '$name says its rollout step, what old replicas do, and its locks',
    ({ sql }) => expect(headerProblems(sql)).toEqual([]),
  );
});

describe('the schema', () => {
  const compared = providers.filter((provider) => provider !== 'mysql');
  test.each(compared)('shows no drift against a migrated database on %s', async (provider) => {
    const database = await createTestDatabase({ provider });
    try {
      const command = `migrate diff --from-config-datasource --exit-code --to-schema prisma/${provider}/schema.prisma`;
      const outcome = await runPrisma(database.url, command.split(' '));
      expect(outcome).toEqual({ code: 0, output: expect.stringContaining('No difference detected') });
    } finally {
      await database.drop();
    }
  });
});

for (const provider of providers.filter((one) => one === 'mysql')) {
  test(`the schema shows no drift against a migrated database on ${provider}`, async () => {
    const schema = readFileSync(`${workspaceRoot}prisma/mysql/schema.prisma`, 'utf8');
    const database = await createTestDatabase({ provider });
    try {
      expect(await mysqlDrift(database.url, schema)).toEqual([]);
      const raw = await openRaw(database.url);
      await raw.run(
        'ALTER TABLE task_leases DROP INDEX task_leases_expires_at_idx, MODIFY holder VARCHAR(190) NULL',
      );
      await raw.close();
      expect(await mysqlDrift(database.url, schema)).toEqual([
        'task_leases.holder: varchar(190) NULL, the schema says varchar(191) NOT NULL',
        'task_leases: no index on (expires_at)',
      ]);
    } finally {
      await database.drop();
    }
  });
}

test.each([
  ['-- Locks: nothing.\nCREATE TABLE x (y INTEGER);', /Rollout step/],
  [
    '-- Rollout step 3: before the first replica of this version.\n-- Old replicas: go on.\n\nSELECT 1;',
    /Locks/,
  ],
  [
    '-- Rollout step 3: at some later time.\n-- Old replicas: go on; it only adds indexes.\n-- Locks: tasks for a moment.\nSELECT 1;',
    /before|after/,
  ],
  [
    '-- Rollout step 3: before the first replica.\n-- Old replicas: ?\n-- Locks: tasks for a moment.\nSELECT 1;',
    /Old replicas/,
  ],
  [
    '-- Rollout step 3: before the first replica.\n-- Old replicas: go on as before.\n-- Locks: nothing that exists.\nALTER TABLE tasks ADD COLUMN x TEXT;',
    /nothing of tasks/,
  ],
])('a header that leaves something out is refused: %j', (sql, complaint) => {
  expect(headerProblems(sql).join()).toMatch(complaint);
});
