import type { EndedLeaseless, LeaselessBatch } from '../../statements/leaseless.js';
import type { Statement } from '../statement.js';
import { failedPayload } from './sweep.js';

const PAYLOAD = failedPayload({ epoch: 'c.epoch', detail: 'idleSince', moment: 'c.updated_at' });

/**
 * Ends tasks that were left running without a lease, each exactly once across all sweepers (protocol 6). `$1` limit, `$2`
 * sweeper, `$3` status timestamp, `$4` text, `$5` idle time in ms, `$6` rows to pass over.
 *
 * That nobody holds a lease is seen as of the statement's beginning. Who has taken one since has written to the task in
 * the same transaction, so its row is locked, or its newest version, which the lock judges again, is not idle.
 */
export const sweepLeaseless: Statement = {
  name: 'sweepLeaseless',
  writes: true,
  text: `
WITH a AS MATERIALIZED (
  SELECT t.id, t.tenant, t.owner, t.context_id, t.version, t.updated_at FROM tasks t
   WHERE t.state IN ('TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING')
     AND t.updated_at < statement_timestamp() - $5::float8 * interval '1 ms'
     AND NOT EXISTS (SELECT FROM task_leases x WHERE x.task_id = t.id OFFSET 0)
   ORDER BY t.created_at, t.id LIMIT $1::int OFFSET $6::int
   FOR NO KEY UPDATE OF t SKIP LOCKED),
c AS MATERIALIZED (
  SELECT a.*, coalesce((SELECT e.epoch FROM task_events e WHERE e.task_id = a.id AND e.seq = a.version), a.version)
         AS epoch
    FROM a),
k AS MATERIALIZED (SELECT c.id, c.tenant, c.owner, c.version, c.epoch, ${PAYLOAD} AS payload FROM c),
u AS (
  UPDATE tasks SET version = k.version + 1, state = 'TASK_STATE_FAILED', status_timestamp = $3,
         updated_at = clock_timestamp()
    FROM k WHERE tasks.id = k.id),
e AS (
  INSERT INTO task_events (task_id, seq, kind, payload, write_id, holder, epoch)
  SELECT id, version + 1, 'statusUpdate', payload, 'sweep:' || id || ':' || epoch, $2, epoch FROM k)
SELECT * FROM k`,
};

/** The parameters of {@link sweepLeaseless}. */
export function leaselessValues(batch: LeaselessBatch): unknown[] {
  const { limit, sweeper, statusTimestamp, text, idleMs, skip = 0 } = batch;
  return [limit, sweeper, statusTimestamp, text, idleMs, skip];
}

/** A row of {@link sweepLeaseless}. */
export interface LeaselessRow {
  readonly id: string;
  readonly tenant: string;
  readonly owner: string;
  /** Before the end. */
  readonly version: number;
  readonly epoch: number;
  readonly payload: string;
}

/** The task that a row stands for. */
export function toEnded(row: LeaselessRow): EndedLeaseless {
  const { id, tenant, owner, version, epoch, payload } = row;
  return { taskId: id, scope: { tenant, owner }, epoch, failed: { seq: version + 1, payload } };
}
