import type { NewEvent, Scope } from '@a2a-cluster/core';
import { sizeOf, statement, type Statement } from './texts.js';

/** Rows of events are inserted together up to about this many bytes of payload. */
const INSERT_BYTES = 1_048_576;
/** And up to this many rows. */
const INSERT_ROWS = 200;

/** Events of one turn, at seq `firstSeq` and on. */
export interface EventWrites {
  readonly taskId: string;
  readonly firstSeq: number;
  readonly holder: string;
  readonly epoch: number;
  readonly events: readonly NewEvent[];
}

const EVENT_COLUMNS = 'task_id, seq, kind, payload, write_id, message_id, holder, epoch, created_at';
const EVENT_ROW = '(?, ?, ?, ?, ?, ?, ?, ?, SYSDATE(3))';

/** INSERTs of events: as few as sizes allow. */
export function insertEvents(writes: EventWrites): readonly Statement[] {
  const groups: unknown[][][] = [];
  let bytes = INSERT_BYTES;
  writes.events.forEach((event, index) => {
    const { kind, payload, writeId, messageId } = event;
    const seq = writes.firstSeq + index;
    const row = [writes.taskId, seq, kind, payload, writeId, messageId ?? null, writes.holder, writes.epoch];
    if (bytes + payload.length > INSERT_BYTES || (groups.at(-1)?.length ?? 0) >= INSERT_ROWS) {
      groups.push([]);
      bytes = 0;
    }
    groups.at(-1)?.push(row);
    bytes += payload.length;
  });
  return groups.map((rows) => {
    const list = rows.map(() => EVENT_ROW).join(', ');
    return statement(`INSERT INTO task_events (${EVENT_COLUMNS}) VALUES ${list}`, ...rows.flat());
  });
}

/** What becomes of the task's row; null leaves a column. The caller holds the row's lock. */
export interface TaskWrite {
  readonly taskId: string;
  readonly version: number;
  readonly state: string | null;
  readonly statusTimestamp: string | null;
}

/** Moves the task's row. */
export function updateTask({ taskId, version, state, statusTimestamp }: TaskWrite): Statement {
  return statement(
    `UPDATE tasks SET version = ?, state = COALESCE(?, state), status_timestamp = COALESCE(?, status_timestamp),
      updated_at = SYSDATE(3) WHERE id = ?`,
    version,
    state,
    statusTimestamp,
    taskId,
  );
}

/**
 * Replaces the snapshot; nothing when it is longer than the server takes: a read then folds more events onto the
 * older one, which costs time and loses nothing.
 */
export function replaceSnapshot(
  snapshot: { readonly taskId: string; readonly version: number; readonly payload: string | null },
  maxPacketBytes: number,
): readonly Statement[] {
  const { taskId, version, payload } = snapshot;
  if (payload === null) return [];
  const write = statement(
    `INSERT INTO task_snapshots (task_id, version, payload) VALUES (?, ?, ?)
      ON DUPLICATE KEY UPDATE version = VALUES(version), payload = VALUES(payload)`,
    taskId,
    version,
    payload,
  );
  return sizeOf(write) > maxPacketBytes ? [] : [write];
}

/** A lease as it is granted. */
export interface LeaseGrant {
  readonly taskId: string;
  readonly scope: Scope;
  readonly holder: string;
  readonly epoch: number;
  readonly pending: boolean;
  readonly ttlMs: number;
}

/**
 * Grants the lease, to a free task or over an expired lease that the caller has locked. Leases are made under the
 * task's lock alone, so nothing can come between. ON DUPLICATE KEY takes the exclusive lock at once; a failed plain
 * INSERT would keep a shared one, against which a waiting beat deadlocks.
 */
export function grantLease({ taskId, scope, holder, epoch, pending, ttlMs }: LeaseGrant): Statement {
  return statement(
    `INSERT INTO task_leases (task_id, tenant, owner, holder, epoch, pending, acquired_at, expires_at)
      VALUES (?, ?, ?, ?, ?, ?, SYSDATE(3), SYSDATE(3) + INTERVAL ? MICROSECOND)
      ON DUPLICATE KEY UPDATE holder = VALUES(holder), epoch = VALUES(epoch), pending = VALUES(pending),
        acquired_at = VALUES(acquired_at), expires_at = VALUES(expires_at), cancel_requested_at = NULL`,
    taskId,
    scope.tenant,
    scope.owner,
    holder,
    epoch,
    pending ? 1 : 0,
    microseconds(ttlMs),
  );
}

/** Deletes the lease of a task whose rows the caller has locked. */
export function endLease(taskId: string): Statement {
  return statement('DELETE FROM task_leases WHERE task_id = ?', taskId);
}

/** Whole microseconds of milliseconds. */
export function microseconds(ms: number): number {
  return Math.round(ms * 1_000);
}
