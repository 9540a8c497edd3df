import type { NewEvent, Scope } from '@a2a-cluster/core';
import type { TaskMove } from '../statements/journal-statements.js';
import { NOW } from './rows.js';
import type { SqliteSession } from './session.js';

/** The rows appended to a log. */
export interface Append {
  readonly taskId: string;
  readonly firstSeq: number;
  readonly holder: string;
  readonly epoch: number;
  readonly events: readonly NewEvent[];
}

const EVENT = `
INSERT INTO task_events (task_id, seq, kind, payload, write_id, message_id, holder, epoch, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ${NOW})`;

/** Adds events at the end of a log. */
export function appendEvents(session: SqliteSession, append: Append): void {
  const { taskId, firstSeq, holder, epoch } = append;
  append.events.forEach(({ kind, payload, writeId, messageId = null }, index) => {
    session.run(EVENT, taskId, firstSeq + index, kind, payload, writeId, messageId, holder, epoch);
  });
}

const MOVE = `
UPDATE tasks SET version = ?, state = coalesce(?, state), status_timestamp = coalesce(?, status_timestamp),
       updated_at = ${NOW}
 WHERE id = ?`;
const CLEAR_PENDING = 'UPDATE task_leases SET pending = 0 WHERE task_id = ? AND pending';

/** What a batch does to the rows beside the log; `version` is the seq of its last event. */
export function moveTask(
  session: SqliteSession,
  at: { readonly taskId: string; readonly version: number },
  move: TaskMove,
): void {
  const { taskId, version } = at;
  session.run(MOVE, version, move.state, move.statusTimestamp, taskId);
  if (move.snapshot !== null) writeSnapshot(session, at, move.snapshot);
  if (move.terminal) dropLease(session, taskId);
  else if (move.clearsPending) session.run(CLEAR_PENDING, taskId);
}

const SNAPSHOT = `
INSERT INTO task_snapshots (task_id, version, payload) VALUES (?, ?, ?)
ON CONFLICT (task_id) DO UPDATE SET version = excluded.version, payload = excluded.payload`;

/** Replaces a task's snapshot. */
export function writeSnapshot(
  session: SqliteSession,
  at: { readonly taskId: string; readonly version: number },
  payload: string,
): void {
  session.run(SNAPSHOT, at.taskId, at.version, payload);
}

/** A lease as it begins. */
export interface Grant {
  readonly taskId: string;
  readonly scope: Scope;
  readonly holder: string;
  readonly ttlMs: number;
  readonly epoch: number;
  readonly pending: boolean;
}

const GRANT = `
INSERT INTO task_leases (task_id, tenant, owner, holder, epoch, pending, acquired_at, expires_at)
VALUES (?, ?, ?, ?, ?, ?, ${NOW}, ${NOW} + CAST(? AS INTEGER))
ON CONFLICT (task_id) DO UPDATE
   SET holder = excluded.holder, epoch = excluded.epoch, pending = excluded.pending,
       acquired_at = excluded.acquired_at, expires_at = excluded.expires_at, cancel_requested_at = NULL`;

/** Inserts a lease, or takes one over: the caller has seen under the write lock that it may. */
export function grantLease(session: SqliteSession, grant: Grant): void {
  const { taskId, scope, holder, epoch, pending, ttlMs } = grant;
  session.run(GRANT, taskId, scope.tenant, scope.owner, holder, epoch, pending ? 1 : 0, ttlMs);
}

const DROP = 'DELETE FROM task_leases WHERE task_id = ?';

/** Deletes a task's lease, whoever holds it. */
export function dropLease(session: SqliteSession, taskId: string): void {
  session.run(DROP, taskId);
}
