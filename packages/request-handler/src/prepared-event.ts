import type { Message, Task } from '@a2a-js/sdk';
import type { AgentExecutionEvent } from '@a2a-js/sdk/server';
import {
  decodeEvent,
  encodeEvent,
  isTerminalName,
  project,
  stateName,
  type NewEvent,
  type StateName,
  type TaskEvent,
} from '@a2a-cluster/core';

/** An event on its way into the log: encoded once. */
export interface PreparedEvent {
  readonly newEvent: NewEvent;
  readonly stateAfter: StateName;
  /** The status it sets or repeats; null: it says nothing of the status. */
  readonly status: { readonly timestamp: string | undefined } | null;
  readonly terminal: boolean;
  /** A status update, or a task whose state differs from the one before: the turn has been heard (protocol 4). */
  readonly setsStatus: boolean;
  readonly bytes: number;
}

/** Where an event lands. */
export interface PrepareContext {
  readonly taskId: string;
  readonly contextId: string;
  /** Whether there is a task before the event. */
  readonly exists: boolean;
  /** Its state, `''` where there is none. */
  readonly state: StateName;
  /** The task before the event, folded when it is asked for. */
  task(): Task | undefined;
  readonly userMessage: Message;
  /** Whether the turn has published nothing yet. */
  readonly first: boolean;
  readonly maxEventBytes: number;
  newId(): string;
}

/** Why an event cannot be part of the turn. */
export type Unfit =
  /** It changes nothing: an update without a status or an artifact. */
  | { readonly why: 'no_effect' }
  | { readonly why: 'wrong_order' | 'wrong_task' | 'too_large'; readonly text: string };

/**
 * Checks and encodes what an executor has published. All goes on from the decoded form, so it is what any reader of
 * the log makes of it, whatever else hung on the object. Only a `task` event is merged with what was there before:
 * the cost of all others does not grow with the task.
 *
 * @throws when the event cannot be encoded.
 */
export function prepareEvent(published: AgentExecutionEvent, context: PrepareContext): PreparedEvent | Unfit {
  const unfit = checkFit(published, context);
  if (unfit !== null) return unfit;
  const encoded = encodeEvent(inContext(published as TaskEvent, context.contextId));
  const event = decodeEvent(published.kind, encoded);
  if (isTerminalName(context.state)) return { why: 'no_effect' };
  if (event.kind === 'task') return mergedTask(event, context);
  if (!context.exists || (event.kind === 'artifactUpdate' && !event.data.artifact))
    return { why: 'no_effect' };
  const setsStatus = event.kind === 'statusUpdate';
  const status = setsStatus ? event.data.status : undefined;
  return sized(context, {
    payload: encoded,
    event,
    decoded: event,
    status: setsStatus ? { timestamp: status?.timestamp } : null,
    stateAfter: setsStatus ? stateName(status?.state) : context.state,
    setsStatus,
  });
}

/** Stored is the merged task: a reader needs nothing from before it. */
function mergedTask(
  event: TaskEvent & { readonly kind: 'task' },
  context: PrepareContext,
): PreparedEvent | Unfit {
  const merged = project(context.task(), event, context.userMessage);
  if (merged === undefined) return { why: 'no_effect' };
  const stored: TaskEvent = { kind: 'task', data: merged };
  const stateAfter = stateName(merged.status?.state);
  return sized(context, {
    payload: encodeEvent(stored),
    event: stored,
    // Not decoded: the merged task shares its parts with the fold.
    decoded: undefined,
    status: { timestamp: merged.status?.timestamp },
    stateAfter,
    setsStatus: !context.exists || stateAfter !== context.state,
  });
}

interface Encoded extends Pick<PreparedEvent, 'status' | 'stateAfter' | 'setsStatus'> {
  readonly payload: string;
  readonly event: TaskEvent;
  readonly decoded: TaskEvent | undefined;
}

function sized(context: PrepareContext, encoded: Encoded): PreparedEvent | Unfit {
  const { payload, event, decoded, status, stateAfter, setsStatus } = encoded;
  const bytes = Buffer.byteLength(payload, 'utf8');
  if (bytes > context.maxEventBytes) {
    return { why: 'too_large', text: `an event has ${bytes} bytes, the limit is ${context.maxEventBytes}` };
  }
  return {
    newEvent: {
      kind: event.kind,
      payload,
      writeId: context.newId(),
      messageId: context.exists ? undefined : context.userMessage.messageId,
      decoded,
    },
    status,
    stateAfter,
    terminal: isTerminalName(stateAfter),
    setsStatus,
    bytes,
  };
}

function checkFit(event: AgentExecutionEvent, context: PrepareContext): Unfit | null {
  if (event.kind === 'message') return { why: 'wrong_order', text: 'a message after a task' };
  const taskId = event.kind === 'task' ? event.data.id : event.data.taskId;
  if (taskId !== context.taskId) return { why: 'wrong_task', text: `an event of task '${taskId}'` };
  if (context.first && event.kind !== 'task') {
    return { why: 'wrong_order', text: `a ${event.kind} before the first task or message` };
  }
  if (event.kind === 'statusUpdate' && !event.data.status) return { why: 'no_effect' };
  if (event.kind === 'artifactUpdate' && !event.data.artifact) return { why: 'no_effect' };
  return null;
}

/** A task has one context for life; what the agent says of it is not asked. */
function inContext(event: TaskEvent, contextId: string): TaskEvent {
  return { ...event, data: { ...event.data, contextId } } as TaskEvent;
}
