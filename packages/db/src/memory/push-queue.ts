import { isTerminalName } from '@a2a-cluster/core';
import { FORGOTTEN_AFTER_MS, putOffMs, storableText } from '../statements/push-queue-rules.js';
import type {
  ClaimedPush,
  DuePushes,
  PushClaimant,
  PushKey,
  PushQueueStatements,
  PushSettlement,
} from '../statements/push-queue.js';
import { createMemoryDeadLetters } from './push-dead-letters.js';
import { createMemoryPushOperators } from './push-operators.js';
import { allPushes, clearFailures, heldBy, moveTo, taskOf, waits } from './push-rows.js';
import type { MemoryTables, PushRecord } from './tables.js';

/** The statements of push delivery over {@link MemoryTables} (protocol 9). */
export function createMemoryPushQueue(tables: MemoryTables): PushQueueStatements {
  return {
    ...createMemoryDeadLetters(tables),
    ...createMemoryPushOperators(tables),
    claimOf: async ({ taskIds, exceptOrigins = [], ...claimant }) => {
      const active = [...new Set(taskIds)].map((taskId) => activeOf(tables, taskId));
      const nowMs = tables.nowMs();
      const free = active
        .flat()
        .filter((record) => waits(tables, record) && !exceptOrigins.includes(record.config.origin))
        .filter((record) => isDue(record, nowMs) || (record.holder === null && record.attempts === 0));
      return {
        claimed: free.map((record) => take(tables, record, claimant)),
        known: active.flatMap(([first]) => first?.config.taskId ?? []),
      };
    },
    claimDue: async (claim) => claimDue(tables, claim),
    settle: async (settlements) => settlements.flatMap((settlement) => settle(tables, settlement) ?? []),
    storeBody: async ({ seq, body, ...claimed }) => {
      const record = heldBy(tables, claimed);
      if (record) record.body = { seq, text: body };
      return record !== null;
    },
  };
}

function activeOf(tables: MemoryTables, taskId: string): PushRecord[] {
  return [...(tables.pushConfigs.get(taskId)?.values() ?? [])].filter(({ status }) => status === 'active');
}

function isDue({ dueAtMs }: PushRecord, nowMs: number): boolean {
  return dueAtMs !== null && dueAtMs <= nowMs;
}

function take(tables: MemoryTables, record: PushRecord, claimant: PushClaimant): ClaimedPush {
  const nowMs = tables.nowMs();
  record.holder = claimant.holder;
  record.claim += 1;
  record.dueAtMs = nowMs + claimant.ttlMs;
  const { config, claim, position, attempts, failingSinceMs, body } = record;
  const { taskId, configId, scope, payload, wireVersion, origin } = config;
  const task = taskOf(tables, record.config);
  return {
    ...{ taskId, configId, scope, payload, wireVersion, origin, claim, position, attempts, body },
    version: task?.version ?? 0,
    state: task?.state ?? '',
    failingForMs: failingSinceMs === null ? 0 : nowMs - failingSinceMs,
  };
}

function claimDue(tables: MemoryTables, claim: Parameters<PushQueueStatements['claimDue']>[0]): DuePushes {
  const { limit, exceptOrigins, onlyOrigins } = claim;
  const isWanted = ({ config: { origin } }: PushRecord): boolean =>
    !exceptOrigins.includes(origin) && (onlyOrigins === undefined || onlyOrigins.includes(origin));
  const nowMs = tables.nowMs();
  const due = allPushes(tables)
    .filter((record) => isDue(record, nowMs) && isWanted(record))
    .sort((a, b) => (a.dueAtMs ?? 0) - (b.dueAtMs ?? 0))
    .slice(0, limit);
  const claimed = due.flatMap((record) => {
    if (waits(tables, record)) return [take(tables, record, claim)];
    rest(tables, record);
    return [];
  });
  return { claimed, seen: due.length };
}

/** What becomes of a config without events. */
function rest(tables: MemoryTables, record: PushRecord): void {
  const { taskId, configId } = record.config;
  const task = taskOf(tables, record.config);
  const unchangedForMs = tables.nowMs() - record.changedAtMs;
  if (!task && unchangedForMs > FORGOTTEN_AFTER_MS) tables.pushConfigs.get(taskId)?.delete(configId);
  putOff(tables, record);
}

function putOff(tables: MemoryTables, record: PushRecord): void {
  const task = taskOf(tables, record.config);
  const nowMs = tables.nowMs();
  const done = task !== undefined && isTerminalName(task.state);
  record.holder = null;
  record.status = done ? 'done' : 'active';
  record.dueAtMs = done ? null : nowMs + putOffMs(nowMs - record.changedAtMs);
}

function settle(tables: MemoryTables, settlement: PushSettlement): PushKey | null {
  const { taskId, configId, position, delivered, next } = settlement;
  const record = heldBy(tables, settlement);
  if (!record) return null;
  moveTo(tables, record, position);
  if (delivered) clearFailures(record);
  if ((record.body?.seq ?? Infinity) <= position) record.body = null;
  proceed(tables, record, next);
  return { taskId, configId };
}

function proceed(tables: MemoryTables, record: PushRecord, next: PushSettlement['next']): void {
  const nowMs = tables.nowMs();
  if (next.kind === 'keep') {
    record.dueAtMs = nowMs + next.ttlMs;
    return;
  }
  record.holder = null;
  if (next.kind === 'release') {
    if (waits(tables, record)) record.dueAtMs = nowMs;
    else putOff(tables, record);
    return;
  }
  record.lastError = storableText(next.error);
  if (next.kind === 'disable') {
    record.status = 'disabled';
    record.dueAtMs = null;
    return;
  }
  record.attempts += 1;
  record.failingSinceMs ??= nowMs;
  record.dueAtMs = nowMs + next.delayMs;
}
