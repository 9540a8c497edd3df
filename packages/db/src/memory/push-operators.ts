import { urlOf } from '../statements/push-queue-rules.js';
import type { PushListing, PushQueueStatements } from '../statements/push-queue.js';
import { allPushes, byDue, waits } from './push-rows.js';
import type { MemoryTables, PushRecord } from './tables.js';

/** What operators ask and do, over {@link MemoryTables}. */
export function createMemoryPushOperators(
  tables: MemoryTables,
): Pick<PushQueueStatements, 'retry' | 'list' | 'counts'> {
  return {
    retry: async ({ taskId, configId }) => {
      const isOf = (key: { readonly taskId: string; readonly configId: string }): boolean =>
        key.taskId === taskId && (configId === undefined || key.configId === configId);
      const configs = allPushes(tables).filter((record) => isOf(record.config) && retryOne(tables, record));
      const letters = tables.deadLetters.filter(
        ({ letter, dueAtMs, deliveredAtMs }) =>
          isOf(letter) &&
          dueAtMs === null &&
          deliveredAtMs === null &&
          tables.pushConfigs.get(taskId)?.has(letter.configId),
      );
      for (const letter of letters) letter.dueAtMs = tables.nowMs();
      return { configs: configs.length, deadLetters: letters.length };
    },
    list: async ({ taskId, limit }) =>
      allPushes(tables)
        .filter((record) => (taskId === undefined ? isOpen(tables, record) : record.config.taskId === taskId))
        .sort(byDue)
        .slice(0, limit)
        .map((record) => toListing(tables, record)),
    counts: async () => {
      const all = allPushes(tables);
      const waiting = all.filter((record) => record.status === 'active' && waits(tables, record));
      return {
        waiting: waiting.length,
        retrying: waiting.filter(({ attempts }) => attempts > 0).length,
        disabled: all.filter(({ status }) => status === 'disabled').length,
        deadLetters: tables.deadLetters.filter(({ deliveredAtMs }) => deliveredAtMs === null).length,
      };
    },
  };
}

/** Whether it was touched. */
function retryOne(tables: MemoryTables, record: PushRecord): boolean {
  const { status } = record;
  const nowMs = tables.nowMs();
  if (status === 'disabled') {
    const cleared = { attempts: 0, failingSinceMs: null, lastError: null };
    Object.assign(record, { ...cleared, status: 'active', dueAtMs: nowMs });
    return true;
  }
  if (status !== 'active' || record.holder !== null || !waits(tables, record)) return false;
  record.dueAtMs = Math.min(record.dueAtMs ?? nowMs, nowMs);
  return true;
}

function isOpen(tables: MemoryTables, record: PushRecord): boolean {
  if (record.status !== 'active') return record.status === 'disabled';
  return record.holder !== null || waits(tables, record);
}

function toListing(tables: MemoryTables, record: PushRecord): PushListing {
  const { config, status, position, attempts, lastError, holder, dueAtMs, failingSinceMs } = record;
  const nowMs = tables.nowMs();
  return {
    taskId: config.taskId,
    configId: config.configId,
    scope: config.scope,
    ...{ status, position, attempts, lastError, holder },
    url: urlOf(config.payload),
    version: tables.tasks.get(config.taskId)?.version ?? 0,
    dueInMs: dueAtMs === null ? null : dueAtMs - nowMs,
    failingForMs: failingSinceMs === null ? null : nowMs - failingSinceMs,
  };
}
