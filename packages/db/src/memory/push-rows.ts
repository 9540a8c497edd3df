import { sameScope } from '@a2a-cluster/core';
import type { PushKey } from '../statements/push-queue.js';
import type { PushConfigRow } from '../statements/task-queries.js';
import { compareKeys } from './tables.js';
import type { MemoryTables, PushRecord, TaskRecord } from './tables.js';

/** Every config there is. */
export function allPushes(tables: MemoryTables): PushRecord[] {
  return [...tables.pushConfigs.values()].flatMap((configs) => [...configs.values()]);
}

/** Whether a config has events after its position. */
export function waits(tables: MemoryTables, { config, position }: PushRecord): boolean {
  return (taskOf(tables, config)?.version ?? 0) > position;
}

/** A config's task; another owner's is none. */
export function taskOf(tables: MemoryTables, { taskId, scope }: PushConfigRow): TaskRecord | undefined {
  const task = tables.tasks.get(taskId);
  return task && sameScope(task.scope, scope) ? task : undefined;
}

/** The config, if this claim still holds it. */
export function heldBy(tables: MemoryTables, claimed: PushKey & { claim: number }): PushRecord | null {
  const record = tables.pushConfigs.get(claimed.taskId)?.get(claimed.configId);
  return record && record.holder !== null && record.claim === claimed.claim ? record : null;
}

/** Moves the position, never back. */
export function moveTo(tables: MemoryTables, record: PushRecord, position: number): void {
  if (position <= record.position) return;
  record.position = position;
  record.changedAtMs = tables.nowMs();
}

/** Forgets what failed before. */
export function clearFailures(record: PushRecord): void {
  Object.assign(record, { attempts: 0, failingSinceMs: null, lastError: null, body: null });
}

/** In the order in which they are due; those that never are come last. */
export function byDue(a: PushRecord, b: PushRecord): number {
  const [left, right] = [a.dueAtMs ?? Infinity, b.dueAtMs ?? Infinity];
  if (left !== right) return left < right ? -1 : 1;
  const { config: one } = a;
  const { config: other } = b;
  return compareKeys(one.taskId, other.taskId) || compareKeys(one.configId, other.configId);
}
