import { signal } from '@preact/signals';
import { act, ApiFailure } from '../api/client.js';
import type { ActionOutcome } from '../api/index.js';
import { shorten } from '../text/format.js';
import { notify } from './notices.js';

/** Something an operator may do, and what to say before it is done. */
export interface Action {
  readonly title: string;
  /** What will happen. */
  readonly effect: string;
  /** What cannot be undone, or how it can be. */
  readonly undo: string;
  /** The words on the button that does it. */
  readonly confirm: string;
  readonly danger: boolean;
  readonly path: string;
  readonly body?: object;
  /** Called once it is done. */
  readonly after?: () => void;
}

/** The action that waits for its confirmation. */
export const asked = signal<Action | null>(null);

/** Asks for a confirmation. */
export function askFor(action: Action): void {
  asked.value = action;
}

/** Does it; a failure as words that name a way out, or null. */
export async function perform(action: Action): Promise<string | null> {
  let outcome: ActionOutcome;
  try {
    outcome = await act(action.path, action.body);
  } catch (cause) {
    return wayOut(cause);
  }
  action.after?.();
  if (!outcome.ok) return outcome.message;
  notify('good', outcome.message);
  return null;
}

function wayOut(cause: unknown): string {
  if (!(cause instanceof ApiFailure)) return String(cause);
  const { status, message } = cause;
  if (status === 0) return `${message} Whether it was done is not known: look before you try again.`;
  if (status === 401) return 'The token was not accepted. Close this and enter a token.';
  if (status === 403)
    return `${message} Open the console by the address the replicas know, with a token that may act.`;
  if (status === 404) return `${message} It is gone, or this replica does not know it yet.`;
  if (status === 503) return `${message} Try again: another replica may answer.`;
  return message;
}

/** Cancels a task. */
export function cancelTask(taskId: string): Action {
  return {
    title: 'Cancel this task?',
    effect: `The agent of ${shorten(taskId)} is told to stop, and the task becomes Canceled, within the cancel grace at the latest. What it wrote so far stays.`,
    undo: 'A canceled task cannot go on: its user has to send a new one.',
    confirm: 'Cancel the task',
    danger: true,
    path: `tasks/${encodeURIComponent(taskId)}/cancel`,
  };
}

/** Releases a lease. */
export function releaseLease(taskId: string, holder: string): Action {
  return {
    title: 'Release this lease?',
    effect: `The lease of ${shorten(taskId)} ends now, as if ${shorten(holder)} had died: a turn that was running becomes Failed, and what the holder still writes is refused.`,
    undo: 'This cannot be undone. Do it when the holder is dead or stuck; a live turn is better canceled.',
    confirm: 'Release the lease',
    danger: true,
    path: `tasks/${encodeURIComponent(taskId)}/release`,
  };
}

/** Drains a replica. */
export function drainReplica(replicaId: string): Action {
  return {
    title: 'Drain this replica?',
    effect: `${replicaId} takes no new turns; those that run go on to their ends. Reads and streams are answered as before.`,
    undo: 'It can be resumed at any time.',
    confirm: 'Drain the replica',
    danger: false,
    path: `replicas/${encodeURIComponent(replicaId)}/drain`,
  };
}

/** Lets a drained replica take turns again. */
export function resumeReplica(replicaId: string): Action {
  return {
    title: 'Resume this replica?',
    effect: `${replicaId} takes new turns again, with its next heartbeat at the latest.`,
    undo: 'It can be drained again at any time.',
    confirm: 'Resume the replica',
    danger: false,
    path: `replicas/${encodeURIComponent(replicaId)}/resume`,
  };
}

/** Sends what was given up of a webhook once more. */
export function retryPush(taskId: string, configId: string): Action {
  return {
    title: 'Send again to this webhook?',
    effect: `What waits for webhook ${shorten(configId)} is due at once, and the events that were given up are sent once more. A disabled webhook is enabled.`,
    undo: 'A receiver may get an event twice; the notification id of both is the same.',
    confirm: 'Send again',
    danger: false,
    path: `tasks/${encodeURIComponent(taskId)}/retry-push`,
    body: { configId },
  };
}
