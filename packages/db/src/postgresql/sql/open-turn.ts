import type { OpenTurn } from '../../statements/journal-statements.js';
import type { Statement } from '../statement.js';
import { TERMINAL_LIST, remainingMs } from './conditions.js';

/**
 * The user messages of a task, counted up to a limit by the index that finds one of them. Asked only where the task
 * has as many events: the version comes first.
 */
function countMessages(taskId: string, most: string): string {
  return `(SELECT count(*) FROM (
       SELECT 1 FROM task_events m WHERE m.task_id = ${taskId} AND m.message_id IS NOT NULL LIMIT ${most}) AS counted)`;
}

/**
 * A follow-up takes the lease and writes its message (protocol 4). No row = refused: {@link openRefusal} tells why.
 * The unique index on (task_id, message_id) refuses a message that is there already.
 *
 * ON CONFLICT locks the lease that exists and tests its newest version. The take-over is judged by
 * `statement_timestamp()`, the earliest time of the statement: a lease is never taken too early.
 *
 * Rejected: the lease before the task (the epoch needs the version, and a free lease has no row to lock: deadlocks
 * with commit and sweep); reading the document in the same statement (it would be as of the statement's snapshot,
 * before the wait for the lock).
 */
export const openTurn: Statement = {
  name: 'openTurn',
  writes: true,
  text: `
WITH t AS MATERIALIZED (
  SELECT id, tenant, owner, version, state FROM tasks
   WHERE id = $1 AND tenant = $2 AND owner = $3 AND ($4::text IS NULL OR context_id = $4)
     AND state NOT IN (${TERMINAL_LIST})
     AND ($12::bigint IS NULL OR version < $12 OR ${countMessages('$1', '$12')} < $12)
   FOR NO KEY UPDATE),
l AS (
  INSERT INTO task_leases AS x (task_id, tenant, owner, holder, epoch, pending, acquired_at, expires_at)
  SELECT id, tenant, owner, $5, version + 1, true, clock_timestamp(),
         clock_timestamp() + $6::float8 * interval '1 ms' FROM t
  ON CONFLICT (task_id) DO UPDATE
     SET holder = excluded.holder, epoch = excluded.epoch, pending = true, acquired_at = excluded.acquired_at,
         expires_at = excluded.expires_at, cancel_requested_at = NULL
   WHERE $7::boolean AND x.expires_at < statement_timestamp() AND NOT x.pending
     AND (SELECT state FROM t) = 'TASK_STATE_INPUT_REQUIRED'
  RETURNING x.task_id, x.epoch),
u AS (
  UPDATE tasks SET version = l.epoch, updated_at = clock_timestamp() FROM l WHERE tasks.id = l.task_id),
e AS (
  INSERT INTO task_events (task_id, seq, kind, payload, write_id, message_id, holder, epoch)
  SELECT task_id, epoch, $8, $9, $10, $11, $5, epoch FROM l)
SELECT epoch FROM l`,
};

/** The parameters of {@link openTurn}. */
export function openTurnValues(open: OpenTurn): unknown[] {
  const { taskId, scope, contextId, holder, ttlMs, takeOver, event } = open;
  return [
    ...[taskId, scope.tenant, scope.owner, contextId, holder, ttlMs, takeOver],
    ...[event.kind, event.payload, event.writeId, event.messageId ?? null, open.maxMessages ?? null],
  ];
}

/**
 * Why an `openTurn` was refused, in a fresh snapshot: the task of that scope (no row: not found), its lease, and the
 * row that carries the same message. Scoped before the duplicate is looked for: nobody learns of another's messages.
 */
export const openRefusal: Statement = {
  name: 'openRefusal',
  writes: false,
  text: `
SELECT t.context_id, t.state, t.version, x.epoch, x.pending, ${remainingMs('x.expires_at')} AS remaining_ms,
       m.seq AS message_seq, m.epoch AS message_epoch,
       coalesce(t.version >= $5::bigint AND ${countMessages('t.id', '$5')} >= $5, false) AS is_full
  FROM tasks t
  LEFT JOIN task_leases x ON x.task_id = t.id
  LEFT JOIN task_events m ON m.task_id = t.id AND m.message_id = $4
 WHERE t.id = $1 AND t.tenant = $2 AND t.owner = $3`,
};

/** A row of {@link openRefusal}. */
export interface OpenRefusalRow {
  readonly context_id: string;
  readonly state: string;
  readonly version: number;
  /** Null: no lease. */
  readonly epoch: number | null;
  readonly pending: boolean | null;
  readonly remaining_ms: number | null;
  /** Null: the message is not in the log. */
  readonly message_seq: number | null;
  readonly message_epoch: number | null;
  readonly is_full: boolean;
}
