import { verdictOn, type NewEvent } from '@a2a-cluster/core';
import type { SweepBatch, SweepOutcome, SweptLease } from '../statements/journal-statements.js';
import { sweptEvent } from '../statements/swept-event.js';
import { isExpired } from './tables.js';
import type { LeaseRecord, MemoryTables, TaskRecord } from './tables.js';

/** Ends the turns of expired leases by the verdict of core (protocol 6). */
export function sweep(tables: MemoryTables, batch: SweepBatch): SweepOutcome {
  const except = new Set(batch.except);
  const wanted = (lease: LeaseRecord): boolean =>
    !except.has(lease.taskId) && (batch.taskId === undefined || lease.taskId === batch.taskId);
  const candidates = expiredLeases(tables)
    .filter((lease) => wanted(lease) && tables.tasks.has(lease.taskId))
    .slice(0, batch.limit);
  const swept = candidates.map((lease) => sweepOne(tables, lease, batch));
  return { swept, candidates: candidates.length };
}

/** Drops expired leases that have no task; gives their task ids. */
export function sweepOrphans(tables: MemoryTables, limit: number): readonly string[] {
  const orphans = expiredLeases(tables)
    .map((lease) => lease.taskId)
    .filter((taskId) => !tables.tasks.has(taskId))
    .slice(0, limit);
  for (const taskId of orphans) tables.leases.delete(taskId);
  return orphans;
}

/** The longest expired first. */
function expiredLeases(tables: MemoryTables): LeaseRecord[] {
  const nowMs = tables.nowMs();
  return [...tables.leases.values()]
    .filter((lease) => isExpired(lease, nowMs))
    .sort((a, b) => a.expiresAtMs - b.expiresAtMs);
}

function sweepOne(tables: MemoryTables, lease: LeaseRecord, batch: SweepBatch): SweptLease {
  const task = tables.tasks.get(lease.taskId) ?? null;
  const verdict = verdictOn({ state: task?.state ?? null, pending: lease.pending });
  const failed = task && verdict === 'fail' ? failTurn(tables, { task, lease, batch }) : null;
  tables.leases.delete(lease.taskId);
  const { taskId, scope, holder, epoch } = lease;
  return { taskId, scope, holder, epoch, expiredForMs: tables.nowMs() - lease.expiresAtMs, failed };
}

function failTurn(
  tables: MemoryTables,
  turn: { readonly task: TaskRecord; readonly lease: LeaseRecord; readonly batch: SweepBatch },
): { seq: number; payload: string } {
  const { task, lease, batch } = turn;
  const { taskId, contextId } = task;
  const { epoch, expiresAtMs } = lease;
  const event = sweptEvent({ taskId, contextId, epoch, expiredAtMs: expiresAtMs }, batch);
  return failTask(tables, { task, epoch, event, batch });
}

/** Ends a task with a FAILED event. */
export function failTask(
  tables: MemoryTables,
  fail: {
    readonly task: TaskRecord;
    readonly epoch: number;
    readonly event: NewEvent;
    readonly batch: Pick<SweepBatch, 'sweeper' | 'statusTimestamp'>;
  },
): { seq: number; payload: string } {
  const { task, epoch, event, batch } = fail;
  tables.append({ taskId: task.taskId, holder: batch.sweeper, epoch }, [event]);
  task.version += 1;
  task.state = 'TASK_STATE_FAILED';
  task.statusTimestamp = batch.statusTimestamp;
  task.updatedAtMs = tables.nowMs();
  return { seq: task.version, payload: event.payload };
}
