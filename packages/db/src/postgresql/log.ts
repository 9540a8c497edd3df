import type { EventKind, EventRow } from '@a2a-cluster/core';
import type { LogHead, LogStatements, StoredTask } from '../statements/log-statements.js';
import type { Connections } from './connections.js';
import * as sql from './sql/log.js';
import { toLook, type LookRow } from './sql/look.js';

/** A row of an event. */
export interface EventRecord {
  readonly task_id: string;
  readonly seq: number;
  readonly kind: EventKind;
  readonly payload: string;
  readonly message_id: string | null;
  readonly holder: string;
  readonly epoch: number;
}

/** The reads of the log on PostgreSQL: heads on a connection of their own, everything else on the request pool. */
export function createPostgresLog(connections: {
  readonly requests: Connections;
  readonly heads: Connections;
}): LogStatements {
  const { requests, heads } = connections;
  return {
    async readTask({ taskId, scope }) {
      const values = [taskId, scope?.tenant ?? null, scope?.owner ?? null];
      return toStoredTask(await requests.run<TaskRecord>(sql.readTask, values));
    },
    async readHeads(taskIds) {
      if (taskIds.length === 0) return [];
      return (await heads.run<HeadRecord>(sql.readHeads, [[...taskIds]])).map(toHead);
    },
    async readEvents({ taskId, after, limit }) {
      return (await requests.run<EventRecord>(sql.readEvents, [taskId, after, limit])).map(toEvent);
    },
    async readEventsOf({ cursors, limit }) {
      if (cursors.length === 0) return [];
      const ids = cursors.map((cursor) => cursor.taskId);
      const afters = cursors.map((cursor) => cursor.after);
      return (await requests.run<EventRecord>(sql.readEventsOf, [ids, afters, limit])).map(toEvent);
    },
    async findMessage({ taskId, messageId }) {
      const [row] = await requests.run<{ seq: number; epoch: number }>(sql.findMessage, [taskId, messageId]);
      return row ? { seq: row.seq, epoch: row.epoch } : null;
    },
  };
}

/** `seq` is null in the one row of a task without events after its snapshot. */
type TaskRecord = LookRow &
  Omit<EventRecord, 'seq'> & {
    readonly id: string;
    readonly seq: number | null;
    readonly snapshot_version: number;
    readonly snapshot: string | null;
  };

interface HeadRecord {
  readonly id: string;
  readonly version: number;
  readonly state: string;
  readonly holder: string | null;
  readonly epoch: number | null;
  readonly cancel_age_ms: number | null;
}

function toStoredTask(rows: readonly TaskRecord[]): StoredTask | null {
  const [first] = rows;
  if (first === undefined) return null;
  return {
    ...toLook(first),
    taskId: first.id,
    snapshot: first.snapshot,
    snapshotVersion: first.snapshot_version,
    events: rows.flatMap(({ seq, ...row }) => (seq === null ? [] : [toEvent({ ...row, seq })])),
  };
}

/** The row as the contract has it. */
export function toEvent(row: EventRecord): EventRow {
  const { task_id, seq, kind, payload, message_id, holder, epoch } = row;
  return { taskId: task_id, seq, kind, payload, messageId: message_id, holder, epoch };
}

function toHead(row: HeadRecord): LogHead {
  const { id, version, state, holder, epoch, cancel_age_ms } = row;
  const lease = holder === null ? null : { holder, epoch: epoch ?? 0, cancelAgeMs: cancel_age_ms };
  return { taskId: id, version, state, lease };
}
