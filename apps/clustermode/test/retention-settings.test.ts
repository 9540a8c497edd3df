import { describe, expect, test } from '@jest/globals';
import { createSilentLogger } from '@a2a-cluster/core';
import { composeCluster } from '../src/compose.js';
import { loadConfig } from '../src/config.js';
import { loadAgent } from '../src/agent/agent-module.js';

const kept = (env: Record<string, string>) => loadConfig({ env }).config?.kept;

describe('the settings of retention', () => {
  test('are left to the library where nothing is set', () => {
    expect(kept({})).toEqual({ retention: {}, orphanAfterMs: undefined });
  });

  test('are read, and 0 is for ever', () => {
    const env = { EVENT_RETENTION_MS: '0', TASK_RETENTION_MS: '31536000000', ORPHAN_AFTER_MS: '3600000' };
    expect(kept(env)).toEqual({
      retention: { eventsMs: 0, tasksMs: 31_536_000_000 },
      orphanAfterMs: 3_600_000,
    });
  });

  test.each([
    ['EVENT_RETENTION_MS', '-1'],
    ['TASK_RETENTION_MS', 'a week'],
    ['ORPHAN_AFTER_MS', '0'],
  ])('%s is not %s', (name, value) => {
    expect(loadConfig({ env: { [name]: value } }).problems).toEqual([
      expect.stringMatching(new RegExp(`^${name} must be a whole number`)),
    ]);
  });

  test.each([
    [
      { EVENT_RETENTION_MS: '2000', TASK_RETENTION_MS: '1000' },
      /^TASK_RETENTION_MS is 1000 and EVENT_RETENTION_MS is 2000/,
    ],
    [{ ORPHAN_AFTER_MS: '1000' }, /^ORPHAN_AFTER_MS is 1000, it must be at least 2 x LEASE_TTL_MS \(30000\)/],
  ])('%j is refused with both numbers and the names that were set', async (env, message) => {
    const { config } = loadConfig({ env: { ...env, DATABASE_URL: 'file:/nowhere/at-all.db' } });
    if (config === undefined) throw new Error('not read');
    const agent = await loadAgent(undefined);
    const composed = composeCluster({ config, agent, logger: createSilentLogger() });
    await expect(composed).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    await expect(composed).rejects.toThrow(message);
  });
});
