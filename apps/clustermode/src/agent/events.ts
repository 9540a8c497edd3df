import { randomUUID } from 'node:crypto';
import { Role, TaskState, type Message, type Part, type Task } from '@a2a-js/sdk';
import { AgentEvent, type AgentExecutionEvent, type RequestContext } from '@a2a-js/sdk/server';

/** Which task an event is about. */
export interface TaskRef {
  readonly taskId: string;
  readonly contextId: string;
}

/** What a status update says. */
export interface StatusOptions extends TaskRef {
  readonly state: TaskState;
  /** ISO 8601. */
  readonly timestamp: string;
  /** `''`: the status carries no message. */
  readonly text: string;
}

/** What a part of the artifact `output` is. */
export interface OutputOptions extends TaskRef {
  readonly text: string;
  /** False for the first part, which starts the artifact afresh. */
  readonly append: boolean;
  readonly lastChunk: boolean;
}

/** The text a person wrote: the text parts of a message, one per line. */
export function textOf(message: Message): string {
  return message.parts
    .flatMap((part) => (part.content?.$case === 'text' ? [part.content.value] : []))
    .join('\n');
}

/** The task in SUBMITTED, as every turn begins: new with the user's message, or the stored one as it was. */
export function submitted(context: RequestContext, timestamp: string): AgentExecutionEvent {
  const task: Task = {
    id: context.taskId,
    contextId: context.contextId,
    status: { state: TaskState.TASK_STATE_SUBMITTED, timestamp, message: undefined },
    history: context.task?.history ?? [context.userMessage],
    artifacts: context.task?.artifacts ?? [],
    metadata: context.task?.metadata,
  };
  return AgentEvent.task(task);
}

/** A status update with a message of the agent. */
export function status(options: StatusOptions): AgentExecutionEvent {
  const { taskId, contextId, state, timestamp, text } = options;
  const message = text === '' ? undefined : agentMessage({ taskId, contextId }, text);
  return AgentEvent.statusUpdate({
    taskId,
    contextId,
    status: { state, timestamp, message },
    metadata: undefined,
  });
}

/** A part of the artifact `output`. */
export function output(options: OutputOptions): AgentExecutionEvent {
  const { taskId, contextId, text, append, lastChunk } = options;
  return AgentEvent.artifactUpdate({
    taskId,
    contextId,
    append,
    lastChunk,
    artifact: {
      artifactId: 'output',
      name: 'output',
      description: '',
      parts: [textPart(text)],
      metadata: undefined,
      extensions: [],
    },
    metadata: undefined,
  });
}

/** An answer that makes no task. */
export function answer(contextId: string, text: string): AgentExecutionEvent {
  return AgentEvent.message(agentMessage({ taskId: '', contextId }, text));
}

function agentMessage(task: TaskRef, text: string): Message {
  return {
    messageId: randomUUID(),
    taskId: task.taskId,
    contextId: task.contextId,
    role: Role.ROLE_AGENT,
    parts: [textPart(text)],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
}

function textPart(text: string): Part {
  return {
    content: { $case: 'text', value: text },
    metadata: undefined,
    filename: '',
    mediaType: 'text/plain',
  };
}
