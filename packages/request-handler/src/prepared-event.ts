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

/** An event on its way into the log: encoded once, with the task as it is after it. */
export interface PreparedEvent {
  readonly newEvent: NewEvent;
  readonly taskAfter: Task;
  readonly stateAfter: StateName;
  readonly terminal: boolean;
  /** A status update, or a task whose state differs from the one before: the turn has been heard (protocol 4). */
  readonly setsStatus: boolean;
  readonly bytes: number;
}

/** Where an event lands. */
export interface PrepareContext {
  readonly taskId: string;
  readonly contextId: string;
  /** The task before the event; undefined for a new task. */
  readonly task: Task | undefined;
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
 * Checks, folds and encodes what an executor has published. The fold goes on from the decoded form, so it is what any
 * reader of the log makes of it, whatever else hung on the object.
 *
 * @throws when the event cannot be encoded.
 */
export function prepareEvent(published: AgentExecutionEvent, context: PrepareContext): PreparedEvent | Unfit {
  const unfit = checkFit(published, context);
  if (unfit !== null) return unfit;
  const encoded = encodeEvent(inContext(published as TaskEvent, context.contextId));
  const event = decodeEvent(published.kind, encoded);
  const taskAfter = project(context.task, event, context.userMessage);
  if (taskAfter === undefined || taskAfter === context.task) return { why: 'no_effect' };
  const stored: TaskEvent = event.kind === 'task' ? { kind: 'task', data: taskAfter } : event;
  const payload = event.kind === 'task' ? encodeEvent(stored) : encoded;
  const bytes = Buffer.byteLength(payload, 'utf8');
  if (bytes > context.maxEventBytes) {
    return { why: 'too_large', text: `an event has ${bytes} bytes, the limit is ${context.maxEventBytes}` };
  }
  const stateAfter = stateName(taskAfter.status?.state);
  const stateBefore = context.task && stateName(context.task.status?.state);
  return {
    newEvent: {
      kind: stored.kind,
      payload,
      writeId: context.newId(),
      messageId: context.task === undefined ? context.userMessage.messageId : undefined,
    },
    taskAfter,
    stateAfter,
    terminal: isTerminalName(stateAfter),
    setsStatus: stored.kind === 'statusUpdate' || (stored.kind === 'task' && stateAfter !== stateBefore),
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
