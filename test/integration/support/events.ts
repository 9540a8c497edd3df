import { Role, TaskState, type Message, type Task } from '@a2a-js/sdk';
import { AgentEvent, type AgentExecutionEvent, type RequestContext } from '@a2a-js/sdk/server';

/** The first event of a turn: the task, new or as it was. */
export function taskEvent(
  context: RequestContext,
  state = TaskState.TASK_STATE_SUBMITTED,
): AgentExecutionEvent {
  const { taskId, contextId, task } = context;
  if (task) return AgentEvent.task(task);
  return AgentEvent.task(newTask(taskId, contextId, state));
}

/** A bare task. */
export function newTask(id: string, contextId: string, state: TaskState): Task {
  return {
    id,
    contextId,
    status: { state, message: undefined, timestamp: undefined },
    artifacts: [],
    history: [],
    metadata: undefined,
  };
}

/** A status update with a text. */
export function statusEvent(context: RequestContext, state: TaskState, text = ''): AgentExecutionEvent {
  const { taskId, contextId } = context;
  const message = text ? agentMessage(context, text) : undefined;
  return AgentEvent.statusUpdate({
    taskId,
    contextId,
    status: { state, message, timestamp: undefined },
    metadata: undefined,
  });
}

/** A chunk of the artifact `output`. */
export function artifactEvent(context: RequestContext, text: string, append: boolean): AgentExecutionEvent {
  const { taskId, contextId } = context;
  return AgentEvent.artifactUpdate({
    taskId,
    contextId,
    append,
    lastChunk: false,
    metadata: undefined,
    artifact: {
      artifactId: 'output',
      name: '',
      description: '',
      extensions: [],
      metadata: undefined,
      parts: [{ content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: '' }],
    },
  });
}

/** A message of the agent. */
export function agentMessage(
  context: { readonly taskId: string; readonly contextId: string },
  text: string,
): Message {
  return {
    messageId: `m-${text}`,
    taskId: context.taskId,
    contextId: context.contextId,
    role: Role.ROLE_AGENT,
    parts: [{ content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: '' }],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
}
