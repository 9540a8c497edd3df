import { sameScope } from '@a2a-cluster/core';
import {
  MOST_CONFIGS_PER_TASK,
  type PushConfigQueries,
  type PushConfigRow,
  type PushConfigSaved,
} from '../statements/task-queries.js';
import type { MemoryTables, PushRecord } from './tables.js';

/** The push configs over {@link MemoryTables} (protocol 9). */
export function createMemoryPushConfigs(tables: MemoryTables): PushConfigQueries {
  const load = ({ taskId, scope }: Pick<PushConfigRow, 'taskId' | 'scope'>): PushConfigRow[] =>
    [...(tables.pushConfigs.get(taskId)?.values() ?? [])]
      .map(({ config }) => config)
      .filter((row) => sameScope(row.scope, scope));
  return {
    save: async (row) => save(tables, row),
    load: async (find) => load(find),
    remove: async ({ taskId, scope, configId }) => {
      const wanted = (row: Pick<PushConfigRow, 'configId' | 'scope'>): boolean =>
        (configId === undefined || row.configId === configId) && sameScope(row.scope, scope);
      const configs = tables.pushConfigs.get(taskId);
      for (const { config } of [...(configs?.values() ?? [])])
        if (wanted(config)) configs?.delete(config.configId);
      if (configs?.size === 0) tables.pushConfigs.delete(taskId);
      tables.deadLetters = tables.deadLetters.filter(
        ({ letter, scope: owner }) =>
          letter.taskId !== taskId || !wanted({ configId: letter.configId, scope: owner }),
      );
    },
  };
}

function save(tables: MemoryTables, row: PushConfigRow): PushConfigSaved {
  const configs = tables.pushConfigs.get(row.taskId) ?? new Map<string, PushRecord>();
  const present = configs.get(row.configId);
  if (present && !sameScope(present.config.scope, row.scope)) return 'taken';
  if (!present && configs.size >= MOST_CONFIGS_PER_TASK) return 'full';
  const config = { ...row, scope: { tenant: row.scope.tenant, owner: row.scope.owner } };
  tables.pushConfigs.set(row.taskId, configs);
  if (present?.status === 'active') present.config = config;
  // Setting a present key keeps its place, so the order stays that of the first save.
  else configs.set(row.configId, { ...freshRecord(tables, config), claim: present?.claim ?? 0 });
  return 'saved';
}

function freshRecord(tables: MemoryTables, config: PushConfigRow): PushRecord {
  const nowMs = tables.nowMs();
  return {
    config,
    position: tables.tasks.get(config.taskId)?.version ?? 0,
    status: 'active',
    dueAtMs: nowMs,
    holder: null,
    claim: 0,
    attempts: 0,
    failingSinceMs: null,
    lastError: null,
    body: null,
    changedAtMs: nowMs,
  };
}
