import { leaselessEvent, type EndedLeaseless, type LeaselessBatch } from '../statements/leaseless.js';
import { failTask } from './sweep.js';
import type { MemoryTables, TaskRecord } from './tables.js';

const RUNNING: ReadonlySet<string> = new Set(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING']);

/** Ends tasks that were left running without a lease (protocol 6). */
export function sweepLeaseless(tables: MemoryTables, batch: LeaselessBatch): readonly EndedLeaseless[] {
  const beforeMs = tables.nowMs() - batch.idleMs;
  const { limit, skip = 0 } = batch;
  return [...tables.tasks.values()]
    .filter((task) => RUNNING.has(task.state) && task.updatedAtMs < beforeMs)
    .filter((task) => !tables.leases.has(task.taskId))
    .slice(skip, skip + limit)
    .map((task) => endLeft(tables, task, batch));
}

function endLeft(tables: MemoryTables, task: TaskRecord, batch: LeaselessBatch): EndedLeaseless {
  const { taskId, contextId, scope, updatedAtMs: idleSinceMs } = task;
  const epoch = tables.logOf(taskId).at(-1)?.epoch ?? task.version;
  const event = leaselessEvent({ taskId, contextId, epoch, idleSinceMs }, batch);
  return { taskId, scope, epoch, failed: failTask(tables, { task, epoch, event, batch }) };
}
