import type { CancelWrite } from '../../statements/journal-statements.js';
import type { Statement } from '../statement.js';
import { TERMINAL_LIST } from './conditions.js';

/**
 * CANCELED without a lease, fencing whoever holds one (protocol 8). No row = refused.
 *
 * The version is compared here too. Rejected: `NOT EXISTS (live lease)`: a lease inserted while this statement
 * waited for the task is not in its snapshot, so neither that test nor the delete could be believed, and a live
 * lease was left on a CANCELED task. Every new lease moves the version, so the comparison sees it.
 */
export const cancel: Statement = {
  name: 'cancel',
  writes: true,
  text: `
WITH t AS MATERIALIZED (
  SELECT id FROM tasks
   WHERE id = $1 AND tenant = $2 AND owner = $3 AND version = $4::int AND state NOT IN (${TERMINAL_LIST})
   FOR NO KEY UPDATE),
u AS (
  UPDATE tasks SET version = $4::int + 1, state = 'TASK_STATE_CANCELED', status_timestamp = $5,
         updated_at = clock_timestamp()
    FROM t WHERE tasks.id = t.id RETURNING tasks.version),
e AS (
  INSERT INTO task_events (task_id, seq, kind, payload, write_id, message_id, holder, epoch)
  SELECT id, $4::int + 1, $8, $9, $10, $11, $6, $7::int FROM t),
d AS (DELETE FROM task_leases x USING t WHERE x.task_id = t.id)
SELECT version FROM u`,
};

/** The parameters of {@link cancel}. */
export function cancelValues(write: CancelWrite): unknown[] {
  const { taskId, scope, expectedVersion, event, statusTimestamp, holder, epoch } = write;
  return [
    ...[taskId, scope.tenant, scope.owner, expectedVersion, statusTimestamp, holder, epoch],
    ...[event.kind, event.payload, event.writeId, event.messageId ?? null],
  ];
}
