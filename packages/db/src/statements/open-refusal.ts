import { isInterruptedName, isTerminalName, type OpenRefusal, type StateName } from '@a2a-cluster/core';

/** What an opener saw of the task under its lock. */
export interface OpenFacts {
  readonly state: StateName;
  readonly contextId: string;
  /** The row that carries the same message, if the log has one. */
  readonly message: { readonly seq: number; readonly epoch: number } | null;
  /** The task has as many messages of its user as the opener lets it have. */
  readonly full: boolean;
  readonly lease: { readonly epoch: number; readonly pending: boolean; readonly expired: boolean } | null;
}

/** What the opener asked for; see `OpenTurn`. */
export interface OpenWish {
  readonly contextId: string | null;
  readonly takeOver: boolean;
}

/**
 * Whether a task is full, given its version and a count of its messages that goes no further than the limit. Each
 * message is an event, so a task with fewer events than that is not even counted.
 */
export function isFull(task: {
  readonly version: number;
  readonly maxMessages: number | undefined;
  count(most: number): number;
}): boolean {
  const { version, maxMessages, count } = task;
  return maxMessages !== undefined && version >= maxMessages && count(maxMessages) >= maxMessages;
}

/**
 * Why a follow-up to a task of its owner is refused, or null: the lease may be inserted or taken over (protocol 4).
 * A duplicate comes first, since the turn it opened answers whatever became of the task.
 */
export function openRefusalOf(facts: OpenFacts, wish: OpenWish): OpenRefusal | null {
  const { state, contextId, message, lease } = facts;
  if (message) return { refusal: 'duplicate', epoch: message.epoch, seq: message.seq };
  if (wish.contextId !== null && wish.contextId !== contextId) return { refusal: 'context_mismatch' };
  if (isTerminalName(state)) return { refusal: 'terminal', state };
  if (facts.full) return { refusal: 'too_many_messages' };
  if (!lease) return null;
  const { epoch, pending, expired } = lease;
  if (!expired) {
    const parked = !pending && isInterruptedName(state);
    return { refusal: parked ? 'parked_busy' : 'busy', epoch };
  }
  if (pending || state !== 'TASK_STATE_INPUT_REQUIRED') return { refusal: 'abandoned', epoch };
  return wish.takeOver ? null : { refusal: 'expired', epoch };
}
