import { leaselessEvent, type EndedLeaseless, type LeaselessBatch } from '../statements/leaseless.js';
import type { Pool } from './pool.js';
import { read } from './reads.js';
import { numberAt, textAt, type Row } from './rows.js';
import { statement, type Statement } from './texts.js';
import { transact, type Transaction } from './transaction.js';
import { insertEvents, microseconds, updateTask } from './writes.js';

/** A task `t` that was left running: nobody has written to it for so many microseconds. */
const LEFT = `t.state IN ('TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING')
   AND t.updated_at < NOW(6) - INTERVAL ? MICROSECOND`;

/**
 * Ends tasks that were left running without a lease (protocol 6). Candidates are read without locks; what they are is
 * judged again under the locks of their rows, without which nobody makes a lease.
 */
export async function sweepLeaseless(parts: {
  readonly writes: Pool;
  readonly reads: Pool;
  readonly batch: LeaselessBatch;
}): Promise<readonly EndedLeaseless[]> {
  const { writes, reads, batch } = parts;
  const { limit, skip = 0 } = batch;
  const candidates = await read(
    reads,
    statement(
      `SELECT t.id FROM tasks t
        WHERE ${LEFT} AND NOT EXISTS (SELECT 1 FROM task_leases x WHERE x.task_id = t.id)
        ORDER BY t.created_at, t.id LIMIT ? OFFSET ?`,
      microseconds(batch.idleMs),
      limit,
      skip,
    ),
  );
  const taskIds = candidates.map((row) => textAt(row, 'id'));
  if (taskIds.length === 0) return [];
  return transact(writes, (tx) => endTasks({ tx, batch, taskIds }));
}

async function endTasks(parts: {
  readonly tx: Transaction;
  readonly batch: LeaselessBatch;
  readonly taskIds: readonly string[];
}): Promise<readonly EndedLeaseless[]> {
  const { tx, batch, taskIds } = parts;
  const [tasks = []] = await tx.read(
    statement(
      `SELECT t.id, t.tenant, t.owner, t.context_id, t.version,
              CAST(ROUND(UNIX_TIMESTAMP(t.updated_at) * 1000) AS SIGNED) AS idle_since
         FROM tasks t FORCE INDEX (PRIMARY)
        WHERE t.id IN (?) AND ${LEFT} ORDER BY t.id FOR UPDATE SKIP LOCKED`,
      taskIds,
      microseconds(batch.idleMs),
    ),
  );
  if (tasks.length === 0) return [];
  const ids = tasks.map((task) => textAt(task, 'id'));
  const [leases = [], last = []] = await tx.read(
    statement('SELECT task_id FROM task_leases WHERE task_id IN (?)', ids),
    statement(
      `SELECT e.task_id, e.epoch FROM tasks t JOIN task_events e ON e.task_id = t.id AND e.seq = t.version
        WHERE t.id IN (?)`,
      ids,
    ),
  );
  const held = new Set(leases.map((row) => textAt(row, 'task_id')));
  const epochs = new Map(last.map((row) => [textAt(row, 'task_id'), numberAt(row, 'epoch')]));
  const ends = tasks
    .filter((task) => !held.has(textAt(task, 'id')))
    .map((task) => endTask({ task, batch, epoch: epochs.get(textAt(task, 'id')) }));
  if (ends.length > 0) await tx.commit(ends.flatMap(({ writes }) => writes));
  return ends.map(({ ended }) => ended);
}

function endTask(parts: {
  readonly task: Row;
  readonly batch: LeaselessBatch;
  readonly epoch: number | undefined;
}): { readonly ended: EndedLeaseless; readonly writes: readonly Statement[] } {
  const { task, batch } = parts;
  const taskId = textAt(task, 'id');
  const version = numberAt(task, 'version');
  const epoch = parts.epoch ?? version;
  const left = {
    taskId,
    contextId: textAt(task, 'context_id'),
    epoch,
    idleSinceMs: numberAt(task, 'idle_since'),
  };
  const event = leaselessEvent(left, batch);
  const seq = version + 1;
  const { statusTimestamp, sweeper: holder } = batch;
  return {
    ended: {
      taskId,
      scope: { tenant: textAt(task, 'tenant'), owner: textAt(task, 'owner') },
      epoch,
      failed: { seq, payload: event.payload },
    },
    writes: [
      updateTask({ taskId, version: seq, state: 'TASK_STATE_FAILED', statusTimestamp }),
      ...insertEvents({ taskId, firstSeq: seq, holder, epoch, events: [event] }),
    ],
  };
}
