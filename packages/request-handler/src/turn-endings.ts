import { TaskState, type Message } from '@a2a-js/sdk';
import type { AgentExecutionEvent } from '@a2a-js/sdk/server';
import { clusterStatus, failedStatus, FAILURE_TEXT, type FailureReason } from '@a2a-cluster/core';

/** What an ending made by the cluster is about. */
export interface EndingContext {
  readonly taskId: string;
  readonly contextId: string;
  /** False: the task is not there yet, so the ending has to be a task itself. */
  readonly exists: boolean;
  readonly userMessage: Message;
  /** ISO 8601. */
  readonly timestamp: string;
  /** The id of the message for people. */
  readonly messageId: string;
}

/** The event that ends a turn FAILED. */
export function failedEvent(
  context: EndingContext,
  reason: FailureReason,
  text?: string,
): AgentExecutionEvent {
  const { taskId, contextId, timestamp, messageId } = context;
  const update = failedStatus({
    taskId,
    contextId,
    reason,
    timestamp,
    messageId,
    text: text ?? FAILURE_TEXT[reason],
  });
  if (context.exists) return { kind: 'statusUpdate', data: update };
  const { status, metadata } = update;
  return {
    kind: 'task',
    data: { id: taskId, contextId, status, metadata, artifacts: [], history: [context.userMessage] },
  };
}

/** The status update that ends a cancelled turn whose agent did not do it itself. */
export function canceledEvent(context: Omit<EndingContext, 'exists' | 'userMessage'>): AgentExecutionEvent {
  const { taskId, contextId, timestamp, messageId } = context;
  const data = clusterStatus({
    taskId,
    contextId,
    state: TaskState.TASK_STATE_CANCELED,
    timestamp,
    messageId,
    text: 'Task cancellation requested by user.',
  });
  return { kind: 'statusUpdate', data };
}
