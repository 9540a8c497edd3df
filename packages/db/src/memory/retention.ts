import { isTerminalName } from '@a2a-cluster/core';
import type {
  Compacted,
  Compaction,
  CompactTask,
  Purge,
  Purged,
  PurgedTask,
  RetentionFound,
  RetentionStatements,
  RetentionStep,
} from '../statements/retention-statements.js';
import { waits } from './push-rows.js';
import { compareKeys, type MemoryTables, type TaskRecord } from './tables.js';

/** Retention over {@link MemoryTables} (protocol 11). */
export function createMemoryRetention(tables: MemoryTables): RetentionStatements {
  return {
    find: async (step) => find(tables, step),
    compact: async (compaction) => compact(tables, compaction),
    purge: async (purge) => purgeTasks(tables, purge),
  };
}

function find(tables: MemoryTables, step: RetentionStep): RetentionFound {
  const { after, limit, endedForMs, due } = step;
  const seen = [...tables.tasks.values()]
    .filter((task) => compareKeys(task.taskId, after) > 0)
    .sort((a, b) => compareKeys(a.taskId, b.taskId))
    .slice(0, limit);
  const found = seen
    .filter((task) => isDue(tables, task, endedForMs))
    .filter((task) => due === 'task' || tables.logOf(task.taskId).length > 0);
  return {
    tasks: found.map(({ taskId, version }) => ({
      taskId,
      version,
      snapshotVersion: tables.snapshots.get(taskId)?.version ?? 0,
    })),
    next: seen.length < limit ? null : (seen.at(-1)?.taskId ?? null),
  };
}

function isDue(tables: MemoryTables, task: TaskRecord, endedForMs: number): boolean {
  const { taskId } = task;
  if (!isTerminalName(task.state) || task.updatedAtMs >= tables.nowMs() - endedForMs) return false;
  if (tables.leases.has(taskId)) return false;
  const pushes = [...(tables.pushConfigs.get(taskId)?.values() ?? [])];
  if (pushes.some((push) => push.status === 'active' && waits(tables, push))) return false;
  return !tables.deadLetters.some((one) => one.letter.taskId === taskId && one.dueAtMs !== null);
}

function compact(tables: MemoryTables, { tasks, endedForMs, maxEvents }: Compaction): Compacted {
  const taken = tasks.filter((task) => mayCompact(tables, task, endedForMs));
  let events = 0;
  for (const { taskId, version, snapshot } of taken) {
    if (snapshot !== null) tables.snapshots.set(taskId, { version, payload: snapshot });
    events += trim(tables, taskId, maxEvents - events);
  }
  return { events, taskIds: taken.map(({ taskId }) => taskId) };
}

function mayCompact(tables: MemoryTables, compact: CompactTask, endedForMs: number): boolean {
  const { taskId, version, snapshot } = compact;
  const task = tables.tasks.get(taskId);
  if (task?.version !== version || !isDue(tables, task, endedForMs)) return false;
  return snapshot !== null || tables.snapshots.get(taskId)?.version === version;
}

/** Takes the first rows of a log; gives how many. */
function trim(tables: MemoryTables, taskId: string, most: number): number {
  const log = tables.logOf(taskId);
  const rest = log.slice(most);
  if (rest.length === 0) tables.events.delete(taskId);
  else tables.events.set(taskId, rest);
  return log.length - rest.length;
}

function purgeTasks(tables: MemoryTables, { taskIds, endedForMs, maxEvents }: Purge): Purged {
  const purged: PurgedTask[] = [];
  let events = 0;
  for (const taskId of [...taskIds].sort(compareKeys)) {
    const task = tables.tasks.get(taskId);
    if (!task || !isDue(tables, task, endedForMs)) continue;
    events += trim(tables, taskId, maxEvents - events);
    if (tables.events.has(taskId)) break;
    tables.tasks.delete(taskId);
    tables.snapshots.delete(taskId);
    tables.pushConfigs.delete(taskId);
    tables.deadLetters = tables.deadLetters.filter(({ letter }) => letter.taskId !== taskId);
    purged.push({ taskId, scope: task.scope, state: task.state });
  }
  return { purged, events };
}
