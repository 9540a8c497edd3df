import { sameScope, type EventRow } from '@a2a-cluster/core';
import type { LogHead, LogStatements, StoredTask } from '../statements/log-statements.js';
import { lookAt } from './journal.js';
import { cancelAgeOf, compareKeys } from './tables.js';
import type { EventRecord, MemoryTables, TaskRecord } from './tables.js';

/** The log statements over {@link MemoryTables} (protocol 3.9 and 7). */
export function createMemoryLog(tables: MemoryTables): LogStatements {
  return {
    readTask: async ({ taskId, scope }) => {
      const task = tables.tasks.get(taskId);
      return task && (!scope || sameScope(task.scope, scope)) ? storedTask(tables, task) : null;
    },
    readHeads: async (taskIds) =>
      taskIds
        .map((taskId) => tables.tasks.get(taskId))
        .filter((task) => task !== undefined)
        .map((task) => headOf(tables, task)),
    readEvents: async ({ taskId, after, limit }) =>
      tables.rowsAfter(taskId, after).slice(0, limit).map(eventRow),
    readEventsOf: async ({ cursors, limit }) =>
      [...cursors]
        .sort((a, b) => compareKeys(a.taskId, b.taskId))
        .flatMap(({ taskId, after }) => tables.rowsAfter(taskId, after))
        .slice(0, limit)
        .map(eventRow),
    findMessage: async ({ taskId, messageId }) => {
      const row = tables.messageRow(taskId, messageId);
      return row ? { seq: row.seq, epoch: row.epoch } : null;
    },
  };
}

/** A task with its snapshot and the events after it. */
export function storedTask(tables: MemoryTables, task: TaskRecord): StoredTask {
  const snapshot = tables.snapshots.get(task.taskId);
  const snapshotVersion = snapshot?.version ?? 0;
  return {
    taskId: task.taskId,
    ...lookAt(tables, task),
    snapshot: snapshot?.payload ?? null,
    snapshotVersion,
    events: tables.rowsAfter(task.taskId, snapshotVersion).map(eventRow),
  };
}

function eventRow(record: EventRecord): EventRow {
  const { taskId, seq, kind, payload, messageId, holder, epoch } = record;
  return { taskId, seq, kind, payload, messageId, holder, epoch };
}

function headOf(tables: MemoryTables, task: TaskRecord): LogHead {
  const { taskId, version, state } = task;
  const lease = tables.leases.get(taskId);
  if (!lease) return { taskId, version, state, lease: null };
  const { holder, epoch } = lease;
  return {
    taskId,
    version,
    state,
    lease: { holder, epoch, cancelAgeMs: cancelAgeOf(lease, tables.nowMs()) },
  };
}
