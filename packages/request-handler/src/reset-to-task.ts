import type { StreamResponse, Task } from '@a2a-js/sdk';
import { METADATA_KEY, SILENT_TELEMETRY, type Scope, type Telemetry } from '@a2a-cluster/core';
import { isPruned } from '@a2a-cluster/event-stream';
import type { TaskReader } from '@a2a-cluster/task-store';
import { withHistoryLength } from './history-length.js';
import { taskPurged } from './refusals.js';

/** What a reset needs. */
export interface ResetParts {
  readonly reader: Pick<TaskReader, 'read'>;
  /** Counts `stream_resets_total`. Default: nobody. */
  readonly telemetry?: Telemetry | undefined;
}

/** Whose stream is reset. */
export interface Reset {
  readonly taskId: string;
  readonly scope: Scope;
  readonly historyLength?: number | undefined;
}

/**
 * The whole task, in place of events that are no longer in the log (protocol 7): what a stream is sent that wanted them,
 * marked as such. It stands for every event up to the task's last one. Counted.
 * @throws A2AError when the task is no longer kept; what the read throws.
 */
export async function resetToTask(parts: ResetParts, reset: Reset): Promise<StreamResponse> {
  const { taskId, scope } = reset;
  const stored = await parts.reader.read({ taskId, scope });
  if (stored === null) throw taskPurged(taskId);
  return resetTo(parts, stored.task, reset.historyLength);
}

/** The same of a task that was read already. */
export function resetTo(
  parts: Pick<ResetParts, 'telemetry'>,
  task: Task,
  historyLength: number | undefined,
): StreamResponse {
  (parts.telemetry ?? SILENT_TELEMETRY).count('stream_resets_total');
  return { payload: { $case: 'task', value: marked(withHistoryLength(task, historyLength)) } };
}

/**
 * What a source gives; where it ends because rows were pruned, the whole task in their place, and then the end, as if
 * it had come to it.
 */
export async function* withReset(
  parts: ResetParts,
  reset: Reset,
  source: AsyncIterable<StreamResponse>,
): AsyncGenerator<StreamResponse, void, undefined> {
  try {
    yield* source;
  } catch (error) {
    if (!isPruned(error)) throw error;
    yield await resetToTask(parts, reset);
  }
}

/** A copy that says why it came; nothing of it is stored. What the cluster has said of the task before stays. */
function marked(task: Task): Task {
  const said: unknown = task.metadata?.[METADATA_KEY];
  const before = typeof said === 'object' && said !== null ? said : {};
  return { ...task, metadata: { ...task.metadata, [METADATA_KEY]: { ...before, reset: 'pruned' } } };
}
