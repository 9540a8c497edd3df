import type { StreamResponse, Task } from '@a2a-js/sdk';
import { isInterrupted, type Scope } from '@a2a-cluster/core';
import { isPruned } from '@a2a-cluster/event-stream';
import type { TaskSnapshot } from '@a2a-cluster/task-store';
import { followTurn } from './follow-turn.js';
import { withHistoryLength } from './history-length.js';
import type { OpenTurnParts } from './open-turn.js';
import { taskNotFound } from './refusals.js';
import type { ClientConnection } from './request-signal.js';
import { resetTo, withReset } from './reset-to-task.js';
import { toClientResponse } from './visible-response.js';

/** A message that is in its task's log already: the turn it opened answers again (protocol 4). */
export interface Repeat {
  readonly taskId: string;
  readonly scope: Scope;
  /** The turn it opened. */
  readonly epoch: number;
}

type RepeatParts = Pick<OpenTurnParts, 'reader' | 'stream' | 'telemetry'>;

/** The task, once the turn is over; at once where the caller does not want to wait. */
export async function answerRepeat(
  parts: RepeatParts,
  repeat: Repeat & { readonly immediately: boolean; readonly signal: AbortSignal | undefined },
): Promise<Task> {
  const { epoch } = repeat;
  const stored = await read(parts, repeat);
  const over = stored.lease?.epoch !== epoch;
  // Pending: the turn has set no status, so what the task asks for was asked before it.
  const asks = stored.lease?.pending === false && isInterrupted(stored.task.status?.state);
  if (repeat.immediately || over || asks) return stored.task;
  try {
    await followToEnd(parts, repeat, stored);
  } catch (error) {
    if (!isPruned(error)) throw error;
  }
  return (await read(parts, repeat)).task;
}

async function followToEnd(
  parts: RepeatParts,
  repeat: Repeat & { readonly signal: AbortSignal | undefined },
  stored: TaskSnapshot,
): Promise<void> {
  const { taskId, epoch } = repeat;
  const tail = parts.stream.attach({ taskId, after: stored.version, expectTask: true, ...signalOf(repeat) });
  for await (const followed of followTurn({ tail, taskId, epoch, stateBefore: stored.task.status?.state })) {
    if (followed.type === 'event' && followed.meaning === 'auth_required') return;
  }
}

type StreamedRepeat = Repeat & {
  readonly historyLength: number | undefined;
  readonly signal: AbortSignal | undefined;
  readonly connection: ClientConnection | undefined;
};

/**
 * The task as the turn found it, then the turn's events, as the first caller saw them. Where those are no longer in the
 * log: the task as it is, in their place.
 */
export function streamRepeat(
  parts: RepeatParts,
  repeat: StreamedRepeat,
): AsyncGenerator<StreamResponse, void, undefined> {
  return withReset(parts, repeat, repeated(parts, repeat));
}

async function* repeated(
  parts: RepeatParts,
  repeat: StreamedRepeat,
): AsyncGenerator<StreamResponse, void, undefined> {
  const { taskId, scope, epoch, historyLength } = repeat;
  const task = await parts.reader.readTaskAt({ taskId, scope, seq: epoch });
  if (task === null) {
    const stored = await read(parts, repeat);
    yield resetTo(parts, stored.task, historyLength);
    return;
  }
  yield { payload: { $case: 'task', value: withHistoryLength(task, historyLength) } };
  await repeat.connection?.writable();
  const tail = parts.stream.attach({ taskId, after: epoch, expectTask: true, ...signalOf(repeat) });
  for await (const followed of followTurn({ tail, taskId, epoch, stateBefore: task.status?.state })) {
    yield toClientResponse(followed, historyLength);
    await repeat.connection?.writable();
  }
}

async function read(parts: RepeatParts, repeat: Repeat): Promise<TaskSnapshot> {
  const stored = await parts.reader.read({ taskId: repeat.taskId, scope: repeat.scope });
  if (stored === null) throw taskNotFound(repeat.taskId);
  return stored;
}

function signalOf(repeat: { readonly signal: AbortSignal | undefined }): { readonly signal?: AbortSignal } {
  return repeat.signal ? { signal: repeat.signal } : {};
}
