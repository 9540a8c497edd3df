import {
  A2AError,
  RequestMalformedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors';
import { errorText, isClusterError, type Logger } from '@a2a-cluster/core';

/** The task is being worked on by a replica (protocol 4): the same over every transport. */
export function taskBusy(taskId: string, retryAfterMs: number): A2AError {
  return new UnsupportedOperationError({
    message: `Task ${taskId} is being worked on. Subscribe to it, or send again when it has stopped.`,
    metadata: { reason: 'TASK_BUSY', retryAfterMs: String(retryAfterMs) },
  });
}

/** No new turns here: the replica is closing, or an operator has paused it (protocol 10). */
export function replicaDraining(retryAfterMs: number): A2AError {
  return new A2AError({
    message: 'This replica takes no new work. Send again; another replica will answer.',
    metadata: { reason: 'REPLICA_DRAINING', retryAfterMs: String(retryAfterMs) },
  });
}

/** Whose limit was reached: that of the whole replica, or that of the caller on it. */
export type LimitScope = 'replica' | 'owner';

/** A limit that was reached, and when to ask again. */
export interface LimitReached {
  readonly scope: LimitScope;
  readonly retryAfterMs: number;
}

/** No new turns here: the replica, or this caller on it, runs as many as it may. */
export function tooManyTurns({ scope, retryAfterMs }: LimitReached): A2AError {
  const who = scope === 'owner' ? 'You run as many tasks on this replica' : 'This replica runs as many tasks';
  return new A2AError({
    message: `${who} as ${scope === 'owner' ? 'you' : 'it'} may. Send again later.`,
    metadata: { reason: 'TOO_MANY_TURNS', scope, retryAfterMs: String(retryAfterMs) },
  });
}

/** No new streams here: the replica, or this caller on it, has as many open as it may. */
export function tooManyStreams({ scope, retryAfterMs }: LimitReached): A2AError {
  const who = scope === 'owner' ? 'You have as many streams' : 'This replica has as many streams';
  return new A2AError({
    message: `${who} open as ${scope === 'owner' ? 'you' : 'it'} may. Close one, or ask again later.`,
    metadata: { reason: 'TOO_MANY_STREAMS', scope, retryAfterMs: String(retryAfterMs) },
  });
}

/** A message has more of something than it may; `reason` says of what. */
export function overLimit(options: {
  readonly reason: 'TOO_MANY_PARTS' | 'NESTED_TOO_DEEP' | 'MESSAGE_TOO_LARGE';
  readonly limit: number;
  readonly message: string;
}): A2AError {
  const { reason, limit, message } = options;
  return new RequestMalformedError({ message, metadata: { reason, limit: String(limit) } });
}

/** No such task, or not the caller's: the two are the same to a caller. */
export function taskNotFound(taskId: string): A2AError {
  return new TaskNotFoundError(`Task not found: ${taskId}`);
}

/** The task was there, has ended, and was deleted when it had been kept long enough (protocol 11). */
export function taskPurged(taskId: string): A2AError {
  return new TaskNotFoundError(`Task ${taskId} has ended and is no longer kept.`);
}

/** The task has ended and takes no more messages. */
export function taskEnded(taskId: string, state: string): A2AError {
  return new UnsupportedOperationError(
    `Task ${taskId} is in a terminal state (${state}) and cannot be modified.`,
  );
}

/** The task has as many messages of its user as it may have. */
export function tooManyMessages(taskId: string, limit: number): A2AError {
  return new UnsupportedOperationError({
    message: `Task ${taskId} has ${limit} messages and takes no more. Go on in a new task of its context.`,
    metadata: { reason: 'TOO_MANY_MESSAGES', limit: String(limit) },
  });
}

/** The task has ended and can no longer be followed. */
export function taskNotSubscribable(taskId: string, state: string): A2AError {
  return new UnsupportedOperationError(
    `Task ${taskId} is in a terminal state (${state}) and cannot be subscribed to.`,
  );
}

/** The task has ended some other way. */
export function taskNotCancelable(taskId: string): A2AError {
  return new TaskNotCancelableError(`Task not cancelable: ${taskId}`);
}

/** The message names a context that is not its task's. */
export function contextMismatch(taskId: string, contextId: string): A2AError {
  return new RequestMalformedError(
    `The message names context '${contextId}', which is not the context of task '${taskId}'.`,
  );
}

/** A request that cannot be stored or understood. */
export function malformed(message: string): A2AError {
  return new RequestMalformedError(message);
}

/** The turn's outcome is not known here: its events can no longer be followed by this request. */
export function outcomeUnknown(taskId: string): A2AError {
  return new A2AError({
    message: `The outcome of task ${taskId} could not be learnt. Read the task again.`,
    metadata: { reason: 'OUTCOME_UNKNOWN', taskId },
  });
}

/**
 * What a client is told of an error: A2A's own as they are, everything else without its text, which may tell of the
 * inside; the log has it.
 */
export function toClientError(error: unknown, logger: Logger): A2AError {
  if (error instanceof A2AError) return error;
  const code = isClusterError(error) ? error.code : undefined;
  logger.error({ err: error, code }, `a request failed: ${errorText(error)}`);
  if (code === undefined || code === 'BUG') return new A2AError({ message: 'Internal error.' });
  if (code === 'CLOSED') return replicaClosed();
  return new A2AError({
    message: 'The task store did not answer. Try again.',
    metadata: { reason: 'STORE_UNAVAILABLE' },
  });
}

/** The replica has closed; what was asked of it may be asked again elsewhere. */
export function replicaClosed(): A2AError {
  return new A2AError({
    message: 'This replica is closed. Send again; another replica will answer.',
    metadata: { reason: 'REPLICA_DRAINING' },
  });
}
