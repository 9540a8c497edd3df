import type { StreamResponse, Task } from '@a2a-js/sdk';
import { isInterrupted, type Scope } from '@a2a-cluster/core';
import type { TaskSnapshot } from '@a2a-cluster/task-store';
import { followTurn } from './follow-turn.js';
import { withHistoryLength } from './history-length.js';
import type { OpenTurnParts } from './open-turn.js';
import { taskNotFound } from './refusals.js';
import type { ClientConnection } from './request-signal.js';
import { toClientResponse } from './visible-response.js';

/** A message that is in its task's log already: the turn it opened answers again (protocol 4). */
export interface Repeat {
  readonly taskId: string;
  readonly scope: Scope;
  /** The turn it opened. */
  readonly epoch: number;
}

type RepeatParts = Pick<OpenTurnParts, 'reader' | 'stream'>;

/** The task, once the turn is over; at once where the caller does not want to wait. */
export async function answerRepeat(
  parts: RepeatParts,
  repeat: Repeat & { readonly immediately: boolean; readonly signal: AbortSignal | undefined },
): Promise<Task> {
  const { taskId, epoch } = repeat;
  const stored = await read(parts, repeat);
  const over = stored.lease?.epoch !== epoch;
  // Pending: the turn has set no status, so what the task asks for was asked before it.
  const asks = stored.lease?.pending === false && isInterrupted(stored.task.status?.state);
  if (repeat.immediately || over || asks) return stored.task;
  const tail = parts.stream.attach({ taskId, after: stored.version, expectTask: true, ...signalOf(repeat) });
  for await (const followed of followTurn({ tail, taskId, epoch, stateBefore: stored.task.status?.state })) {
    if (followed.type === 'event' && followed.meaning === 'auth_required') break;
  }
  return (await read(parts, repeat)).task;
}

/** The task as the turn found it, then the turn's events, as the first caller saw them. */
export async function* streamRepeat(
  parts: RepeatParts,
  repeat: Repeat & {
    readonly historyLength: number | undefined;
    readonly signal: AbortSignal | undefined;
    readonly connection: ClientConnection | undefined;
  },
): AsyncGenerator<StreamResponse, void, undefined> {
  const { taskId, scope, epoch, historyLength } = repeat;
  const before = await parts.reader.readTaskAt({ taskId, scope, seq: epoch });
  const start = before ? { task: before, seq: epoch } : await startNow(parts, repeat);
  yield { payload: { $case: 'task', value: withHistoryLength(start.task, historyLength) } };
  await repeat.connection?.writable();
  const tail = parts.stream.attach({ taskId, after: start.seq, expectTask: true, ...signalOf(repeat) });
  for await (const followed of followTurn({ tail, taskId, epoch, stateBefore: start.task.status?.state })) {
    yield toClientResponse(followed, historyLength);
    await repeat.connection?.writable();
  }
}

/** Where the turn's beginning is no longer in the log, the repetition starts with the task as it is. */
async function startNow(
  parts: RepeatParts,
  repeat: Repeat,
): Promise<{ readonly task: Task; readonly seq: number }> {
  const stored = await read(parts, repeat);
  return { task: stored.task, seq: stored.version };
}

async function read(parts: RepeatParts, repeat: Repeat): Promise<TaskSnapshot> {
  const stored = await parts.reader.read({ taskId: repeat.taskId, scope: repeat.scope });
  if (stored === null) throw taskNotFound(repeat.taskId);
  return stored;
}

function signalOf(repeat: { readonly signal: AbortSignal | undefined }): { readonly signal?: AbortSignal } {
  return repeat.signal ? { signal: repeat.signal } : {};
}
