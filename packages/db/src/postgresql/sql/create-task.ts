import type { CreateTask } from '../../statements/journal-statements.js';
import type { Statement } from '../statement.js';
import { eventArrays } from './event-arrays.js';

/**
 * Task, lease and first events of a new task, in one statement.
 *
 * A taken id is a unique violation and not `ON CONFLICT DO NOTHING`: that would still have to be told from success
 * by the row count, and the common case pays nothing this way. A batch that ends the task makes no lease.
 */
export const createTask: Statement = {
  name: 'createTask',
  writes: true,
  text: `
WITH t AS (
  INSERT INTO tasks (id, tenant, owner, context_id, state, status_timestamp, version)
  VALUES ($1, $2, $3, $4, $5, $6, cardinality($9::text[])) RETURNING id, version),
l AS (
  INSERT INTO task_leases (task_id, tenant, owner, holder, epoch, acquired_at, expires_at)
  SELECT id, $2, $3, $7, 1, clock_timestamp(), clock_timestamp() + $8::float8 * interval '1 ms'
    FROM t WHERE NOT $13::boolean),
e AS (
  INSERT INTO task_events (task_id, seq, kind, payload, write_id, message_id, holder, epoch)
  SELECT t.id, n.i, n.kind, n.payload, n.write_id, n.message_id, $7, 1
    FROM t, unnest($9::text[], $10::text[], $11::text[], $12::text[])
            WITH ORDINALITY AS n(kind, payload, write_id, message_id, i)),
s AS (
  INSERT INTO task_snapshots (task_id, version, payload)
  SELECT id, version, $14::text FROM t WHERE $14::text IS NOT NULL)
SELECT version FROM t`,
};

/** The parameters of {@link createTask}. */
export function createTaskValues(create: CreateTask): unknown[] {
  const { taskId, scope, contextId, state, statusTimestamp, holder, ttlMs, events } = create;
  return [
    ...[taskId, scope.tenant, scope.owner, contextId, state, statusTimestamp, holder, ttlMs],
    ...eventArrays(events),
    create.terminal,
    create.snapshot,
  ];
}
