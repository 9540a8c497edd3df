import { Role, TaskState, type Message, type TaskStatusUpdateEvent } from '@a2a-js/sdk';

/** The key in a status update's metadata under which this project speaks. */
export const METADATA_KEY = 'a2a-cluster';

/** Why a turn was ended by the cluster and not by its agent. */
export type FailureReason =
  | 'replica_lost'
  | 'shutdown'
  | 'turn_incomplete'
  | 'backlog'
  | 'too_many_events'
  | 'executor_error'
  | 'wrong_order';

/** The sentence a person reads, per reason. */
export const FAILURE_TEXT: Readonly<Record<FailureReason, string>> = {
  replica_lost: 'The replica that ran this task was lost before the task ended.',
  shutdown: 'The replica that ran this task was shut down before the task ended.',
  turn_incomplete: 'The agent stopped without ending the task or asking for input.',
  backlog: 'The agent produced events faster than they could be stored.',
  too_many_events: 'The agent produced more events than one turn may have.',
  executor_error: 'The agent failed.',
  wrong_order: 'The agent published an event that cannot be part of this task.',
};

/** What a status update made by the cluster says. */
export interface ClusterStatusOptions {
  readonly taskId: string;
  readonly contextId: string;
  readonly state: TaskState;
  /** ISO 8601. */
  readonly timestamp: string;
  /** The sentence for people. */
  readonly text: string;
  /** The id of the message that carries the text. */
  readonly messageId: string;
  /** Goes under {@link METADATA_KEY}; absent: no metadata. */
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** A status update that the cluster makes itself: FAILED and CANCELED of turns that no agent ends. */
export function clusterStatus(options: ClusterStatusOptions): TaskStatusUpdateEvent {
  const { taskId, contextId, state, timestamp } = options;
  return {
    taskId,
    contextId,
    status: { state, timestamp, message: agentMessage(options) },
    metadata: options.detail ? { [METADATA_KEY]: { ...options.detail } } : undefined,
  };
}

/** The options of a FAILED update. */
export interface FailureOptions {
  readonly taskId: string;
  readonly contextId: string;
  readonly reason: FailureReason;
  readonly timestamp: string;
  readonly messageId: string;
  /** Replaces the reason's own sentence. */
  readonly text?: string;
  /** More facts beside `reason`, such as `expiredAt`. */
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** The FAILED update of a turn the cluster ends. */
export function failedStatus(options: FailureOptions): TaskStatusUpdateEvent {
  const { taskId, contextId, reason, timestamp, messageId } = options;
  return clusterStatus({
    taskId,
    contextId,
    state: TaskState.TASK_STATE_FAILED,
    timestamp,
    messageId,
    text: options.text ?? FAILURE_TEXT[reason],
    detail: { reason, ...options.detail },
  });
}

/** The reason a FAILED update carries, if this project made it. */
export function failureReasonOf(metadata: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const ours = metadata?.[METADATA_KEY];
  if (typeof ours !== 'object' || ours === null || !('reason' in ours)) return undefined;
  return typeof ours.reason === 'string' ? ours.reason : undefined;
}

function agentMessage(options: ClusterStatusOptions): Message {
  return {
    messageId: options.messageId,
    taskId: options.taskId,
    contextId: options.contextId,
    role: Role.ROLE_AGENT,
    parts: [
      { content: { $case: 'text', value: options.text }, metadata: undefined, filename: '', mediaType: '' },
    ],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
}
