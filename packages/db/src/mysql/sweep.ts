import { encodeEvent, failedStatus, verdictOn } from '@a2a-cluster/core';
import type { SweepBatch, SweepOutcome, SweptLease } from '../statements/journal-statements.js';
import type { Pool } from './pool.js';
import { read } from './reads.js';
import { numberAt, textAt, type Row } from './rows.js';
import { statement, type Statement } from './texts.js';
import { transact, type Transaction } from './transaction.js';
import { endLease, insertEvents, updateTask } from './writes.js';

/** `2026-01-31T12:00:00.123Z` of the lease's end. */
const EXPIRED_AT = `CONCAT(LEFT(DATE_FORMAT(expires_at, '%Y-%m-%dT%H:%i:%s.%f'), 23), 'Z') AS expired_at`;

/** In microseconds, by the same clock that judges the expiry. */
const EXPIRED_FOR_US = 'TIMESTAMPDIFF(MICROSECOND, expires_at, NOW(6)) AS expired_for_us';

/**
 * Takes expired leases and ends their turns, in one transaction (protocol 6). Candidates are read without locks:
 * a locking scan by `expires_at` would stand in the way of beats. Expiry is judged again under the locks.
 */
export async function sweep(parts: {
  readonly writes: Pool;
  readonly reads: Pool;
  readonly batch: SweepBatch;
}): Promise<SweepOutcome> {
  const { writes, reads, batch } = parts;
  const candidates = await read(reads, candidatesOf(batch));
  if (candidates.length === 0) return { swept: [], candidates: 0 };
  const taskIds = candidates.map((row) => textAt(row, 'task_id'));
  const swept = await transact(writes, (tx) => sweepTasks({ tx, batch, taskIds }));
  return { swept, candidates: candidates.length };
}

function candidatesOf({ taskId, except = [], limit }: SweepBatch): Statement {
  const only = taskId === undefined ? [] : [taskId];
  return statement(
    `SELECT l.task_id FROM task_leases l JOIN tasks t ON t.id = l.task_id
      WHERE l.expires_at < NOW(6)${only.length > 0 ? ' AND l.task_id = ?' : ''}
      ${except.length > 0 ? 'AND l.task_id NOT IN (?)' : ''} ORDER BY l.expires_at LIMIT ?`,
    ...only,
    ...(except.length > 0 ? [except] : []),
    limit,
  );
}

/** FORCE INDEX: a full scan instead would lock, for a moment, leases that others are beating. */
const LOCK_TASKS = `SELECT id, tenant, owner, context_id, version, state FROM tasks FORCE INDEX (PRIMARY)
  WHERE id IN (?) ORDER BY id FOR UPDATE SKIP LOCKED`;
const LOCK_LEASES = `SELECT task_id, holder, epoch, pending, ${EXPIRED_AT}, ${EXPIRED_FOR_US}
  FROM task_leases FORCE INDEX (PRIMARY)
  WHERE task_id IN (?) AND expires_at < NOW(6) ORDER BY task_id FOR UPDATE SKIP LOCKED`;

async function sweepTasks(parts: {
  readonly tx: Transaction;
  readonly batch: SweepBatch;
  readonly taskIds: readonly string[];
}): Promise<readonly SweptLease[]> {
  const { tx, batch, taskIds } = parts;
  const [tasks = []] = await tx.read(statement(LOCK_TASKS, taskIds));
  if (tasks.length === 0) return [];
  const byId = new Map(tasks.map((task) => [textAt(task, 'id'), task]));
  const [leases = []] = await tx.read(statement(LOCK_LEASES, [...byId.keys()]));
  if (leases.length === 0) return [];
  const turns = leases.flatMap((lease) => {
    const task = byId.get(textAt(lease, 'task_id'));
    return task ? [endTurn({ task, lease, batch })] : [];
  });
  await tx.commit(turns.flatMap(({ writes }) => writes));
  return turns.map(({ swept }) => swept);
}

/** What is written for one dead turn, and what is told of it. */
function endTurn(parts: { readonly task: Row; readonly lease: Row; readonly batch: SweepBatch }): {
  readonly swept: SweptLease;
  readonly writes: readonly Statement[];
} {
  const { task, lease, batch } = parts;
  const taskId = textAt(lease, 'task_id');
  const epoch = numberAt(lease, 'epoch');
  const pending = numberAt(lease, 'pending') !== 0;
  const scope = { tenant: textAt(task, 'tenant'), owner: textAt(task, 'owner') };
  const expiredForMs = numberAt(lease, 'expired_for_us') / 1_000;
  const told = { taskId, scope, holder: textAt(lease, 'holder'), epoch, expiredForMs };
  if (verdictOn({ state: textAt(task, 'state'), pending }) === 'drop')
    return { swept: { ...told, failed: null }, writes: [endLease(taskId)] };

  const seq = numberAt(task, 'version') + 1;
  const writeId = `sweep:${taskId}:${epoch}`;
  const payload = encodeEvent({
    kind: 'statusUpdate',
    data: failedStatus({
      taskId,
      contextId: textAt(task, 'context_id'),
      reason: 'replica_lost',
      timestamp: batch.statusTimestamp,
      messageId: writeId,
      text: batch.text,
      detail: { expiredAt: textAt(lease, 'expired_at') },
    }),
  });
  const events = [{ kind: 'statusUpdate', payload, writeId }] as const;
  const writes = [
    updateTask({ taskId, version: seq, state: 'TASK_STATE_FAILED', statusTimestamp: batch.statusTimestamp }),
    ...insertEvents({ taskId, firstSeq: seq, holder: batch.sweeper, epoch, events }),
    endLease(taskId),
  ];
  return { swept: { ...told, failed: { seq, payload } }, writes };
}

/** Deletes expired leases whose task is gone; these are locked alone. */
export async function sweepOrphans(parts: {
  readonly writes: Pool;
  readonly reads: Pool;
  readonly limit: number;
}): Promise<readonly string[]> {
  const { writes, reads, limit } = parts;
  const candidates = await read(
    reads,
    statement(
      `SELECT l.task_id FROM task_leases l LEFT JOIN tasks t ON t.id = l.task_id
        WHERE l.expires_at < NOW(6) AND t.id IS NULL ORDER BY l.expires_at LIMIT ?`,
      limit,
    ),
  );
  const taskIds = candidates.map((row) => textAt(row, 'task_id'));
  if (taskIds.length === 0) return [];
  return transact(writes, async (tx) => {
    const [leases = [], tasks = []] = await tx.read(
      statement(LOCK_LEASES, taskIds),
      statement('SELECT id FROM tasks WHERE id IN (?)', taskIds),
    );
    const alive = new Set(tasks.map((task) => textAt(task, 'id')));
    const orphans = leases.map((lease) => textAt(lease, 'task_id')).filter((id) => !alive.has(id));
    if (orphans.length > 0) await tx.commit(orphans.map(endLease));
    return orphans;
  });
}
