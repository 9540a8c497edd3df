import { leaselessEvent, type EndedLeaseless, type LeaselessBatch } from '../statements/leaseless.js';
import { NOW, numberAt, textAt } from './rows.js';
import type { SqlRow, SqliteSession } from './session.js';
import { appendEvents, moveTask } from './writes.js';

const LEFT = `
SELECT t.id, t.tenant, t.owner, t.context_id, t.version, t.updated_at,
       coalesce((SELECT e.epoch FROM task_events e WHERE e.task_id = t.id AND e.seq = t.version), t.version) AS epoch
  FROM tasks t
 WHERE t.state IN ('TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING') AND t.updated_at < ${NOW} - CAST(? AS INTEGER)
   AND NOT EXISTS (SELECT 1 FROM task_leases x WHERE x.task_id = t.id)
 ORDER BY t.created_at, t.id LIMIT ? OFFSET ?`;

/** Ends tasks that were left running without a lease (protocol 6), under the file's one write lock. */
export function sweepLeaseless(session: SqliteSession, batch: LeaselessBatch): readonly EndedLeaseless[] {
  const { idleMs, limit, skip = 0 } = batch;
  return session.all(LEFT, idleMs, limit, skip).map((row) => endLeft(session, row, batch));
}

function endLeft(session: SqliteSession, row: SqlRow, batch: LeaselessBatch): EndedLeaseless {
  const taskId = textAt(row, 'id');
  const epoch = numberAt(row, 'epoch');
  const contextId = textAt(row, 'context_id');
  const event = leaselessEvent({ taskId, contextId, epoch, idleSinceMs: numberAt(row, 'updated_at') }, batch);
  const seq = numberAt(row, 'version') + 1;
  appendEvents(session, { taskId, firstSeq: seq, holder: batch.sweeper, epoch, events: [event] });
  const { statusTimestamp } = batch;
  const state = 'TASK_STATE_FAILED';
  const move = { state, statusTimestamp, terminal: true, clearsPending: true, snapshot: null };
  moveTask(session, { taskId, version: seq }, move);
  const scope = { tenant: textAt(row, 'tenant'), owner: textAt(row, 'owner') };
  return { taskId, scope, epoch, failed: { seq, payload: event.payload } };
}
