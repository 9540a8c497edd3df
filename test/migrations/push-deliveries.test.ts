import { describe, expect, jest, test } from '@jest/globals';
import { availableProviders, createTestDatabase, migrationFiles, openRaw } from '@a2a-cluster/testing';
import { deployMigrations } from '../../packages/db/src/migrations/deploy.js';

jest.setTimeout(240_000);

// The columns that the version before knows.
const config = (taskId: string, configId: string): string => `
  INSERT INTO push_notification_configs (task_id, config_id, tenant, owner, url, payload, wire_version)
  VALUES ('${taskId}', '${configId}', '', 'alice', 'https://a', '{"url":"https://a"}', '1.0')`;
const task = (id: string, state: string, version: number): string => `
  INSERT INTO tasks (id, tenant, owner, context_id, state, version)
  VALUES ('${id}', '', 'alice', 'c', '${state}', ${version})`;

describe.each(availableProviders())('push configs of an earlier version on %s', (provider) => {
  test('begin at the last event of their task, those of ended tasks are done', async () => {
    const at = migrationFiles(provider).findIndex(({ name }) => name.endsWith('_push_deliveries'));
    const database = await createTestDatabase({ provider, upTo: at });
    const raw = await openRaw(database.url);
    try {
      await raw.run(task('running', 'TASK_STATE_WORKING', 7));
      await raw.run(task('ended', 'TASK_STATE_FAILED', 9));
      for (const taskId of ['running', 'ended', 'none']) await raw.run(config(taskId, 'before'));
      await deployMigrations({ databaseUrl: database.url });
      // A replica of the version before goes on for a while.
      await raw.run(config('running', 'while'));
      const rows = await raw.query(`
        SELECT task_id, config_id, url, payload, position, status, origin, claim, attempts, due_at, changed_at
          FROM push_notification_configs ORDER BY task_id, config_id`);
      const told = rows.map(({ due_at: due, changed_at: changed, ...row }) => ({
        ...row,
        due: due === null ? null : Math.abs(Number(due) - Date.now()) < 120_000,
        changed: Math.abs(Number(changed) - Date.now()) < 120_000,
      }));
      const kept = { url: 'https://a', payload: '{"url":"https://a"}', origin: '', claim: 0, attempts: 0 };
      const active = { ...kept, status: 'active', due: true, changed: true };
      expect(told).toEqual([
        { task_id: 'ended', config_id: 'before', ...active, position: 9, status: 'done', due: null },
        { task_id: 'none', config_id: 'before', ...active, position: 0 },
        { task_id: 'running', config_id: 'before', ...active, position: 7 },
        { task_id: 'running', config_id: 'while', ...active, position: 0 },
      ]);
    } finally {
      await raw.close();
      await database.drop();
    }
  });
});
