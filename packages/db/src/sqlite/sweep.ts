import { verdictOn } from '@a2a-cluster/core';
import type { SweepBatch, SweepOutcome, SweptLease } from '../statements/journal-statements.js';
import { sweptEvent } from '../statements/swept-event.js';
import { NOW, idList, numberAt, textAt } from './rows.js';
import type { SqlRow, SqliteSession } from './session.js';
import { appendEvents, dropLease, moveTask } from './writes.js';

const CANDIDATES = `
SELECT x.task_id, t.tenant, t.owner, t.context_id, t.state, t.version, x.holder, x.epoch, x.pending, x.expires_at,
       ${NOW} - x.expires_at AS expired_for
  FROM task_leases x JOIN tasks t ON t.id = x.task_id
 WHERE x.expires_at <= ${NOW} AND (? IS NULL OR x.task_id = ?)
   AND x.task_id NOT IN (SELECT value FROM json_each(?))
 ORDER BY x.expires_at LIMIT ?`;

/** Ends the turns of expired leases by the verdict of core (protocol 6), under the file's one write lock. */
export function sweep(session: SqliteSession, batch: SweepBatch): SweepOutcome {
  const { taskId = null, except = [], limit } = batch;
  const rows = session.all(CANDIDATES, taskId, taskId, idList(except), limit);
  return { swept: rows.map((row) => sweepOne(session, row, batch)), candidates: rows.length };
}

function sweepOne(session: SqliteSession, row: SqlRow, batch: SweepBatch): SweptLease {
  const taskId = textAt(row, 'task_id');
  const epoch = numberAt(row, 'epoch');
  const scope = { tenant: textAt(row, 'tenant'), owner: textAt(row, 'owner') };
  const told = {
    taskId,
    scope,
    holder: textAt(row, 'holder'),
    epoch,
    expiredForMs: numberAt(row, 'expired_for'),
  };
  const verdict = verdictOn({ state: textAt(row, 'state'), pending: numberAt(row, 'pending') !== 0 });
  if (verdict === 'drop') {
    dropLease(session, taskId);
    return { ...told, failed: null };
  }
  const seq = numberAt(row, 'version') + 1;
  const turn = {
    taskId,
    contextId: textAt(row, 'context_id'),
    epoch,
    expiredAtMs: numberAt(row, 'expires_at'),
  };
  const event = sweptEvent(turn, batch);
  appendEvents(session, { taskId, firstSeq: seq, holder: batch.sweeper, epoch, events: [event] });
  const { statusTimestamp } = batch;
  const state = 'TASK_STATE_FAILED';
  const move = { state, statusTimestamp, terminal: true, clearsPending: true, snapshot: null };
  moveTask(session, { taskId, version: seq }, move);
  return { ...told, failed: { seq, payload: event.payload } };
}

const ORPHANS = `
DELETE FROM task_leases WHERE task_id IN (
  SELECT x.task_id FROM task_leases x
   WHERE x.expires_at <= ${NOW} AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = x.task_id)
   ORDER BY x.expires_at LIMIT ?)
RETURNING task_id`;

/** Drops expired leases that have no task; gives their task ids. */
export function sweepOrphans(session: SqliteSession, limit: number): readonly string[] {
  return session.all(ORPHANS, limit).map((row) => textAt(row, 'task_id'));
}
