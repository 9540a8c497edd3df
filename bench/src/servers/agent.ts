import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { Role, TaskState, type Artifact, type Message, type Part } from '@a2a-js/sdk';
import {
  AgentEvent,
  type AgentExecutionEvent,
  type AgentExecutor,
  type ExecutionEventBus,
  type RequestContext,
} from '@a2a-js/sdk/server';

/** What a turn does, as the JSON text of its message. */
export interface Script {
  /** Events in all: the task, chunks of one artifact, and the status that ends the turn. At least 2. */
  readonly events: number;
  /** Text of one chunk. Default 40. */
  readonly bytes?: number;
  /** Between two chunks; 0 gives way to the event loop. Default 0. */
  readonly paceMs?: number;
  /** Each chunk begins with the time it was published, see `stampOf`. */
  readonly stamp?: boolean;
  /** Before the chunks the turn waits until the server is told to release it. */
  readonly holdFirst?: boolean;
  /** After the chunks the turn waits until the server is told to release it. */
  readonly hold?: boolean;
  /** The turn ends by asking for input, so that a follow-up can come. */
  readonly ask?: boolean;
}

/** The time in a stamped chunk: nanoseconds of the machine's monotonic clock, the same in every process. */
const STAMP = /@(\d{6,})@/;

/** When a stamped chunk was published, in milliseconds as `nowMs` gives them; null where there is no stamp. */
export function stampOf(text: string): number | null {
  const digits = STAMP.exec(text)?.[1];
  return digits === undefined ? null : Number(BigInt(digits)) / 1e6;
}

/** The same agent for every server: it knows of no cluster. */
export class BenchAgent implements AgentExecutor {
  private readonly released = new EventEmitter().setMaxListeners(0);

  /** Lets turns that hold end. */
  release(): void {
    this.released.emit('release');
  }

  execute = async (context: RequestContext, bus: ExecutionEventBus): Promise<void> => {
    const script = scriptOf(context.userMessage);
    const released = script.hold || script.holdFirst ? once(this.released, 'release') : null;
    bus.publish(firstEvent(context));
    if (script.holdFirst) await released;
    const chunks = script.events - 2;
    for (let index = 0; index < chunks; index += 1) {
      await (script.paceMs ? pause(script.paceMs) : nextTurn());
      bus.publish(chunkEvent(context, { text: textOf(script), append: index > 0 }));
    }
    await released;
    await nextTurn();
    bus.publish(endEvent(context, { messageId: randomUUID(), ask: script.ask === true }));
    bus.finished();
  };

  cancelTask = async (): Promise<void> => {};
}

function scriptOf(message: Message): Script {
  const content = message.parts[0]?.content;
  return JSON.parse(content?.$case === 'text' ? content.value : '') as Script;
}

function textOf(script: Script): string {
  const stamp = script.stamp === true ? `@${process.hrtime.bigint()}@` : '';
  return stamp.padEnd(script.bytes ?? 40, 'lorem ipsum ');
}

/** The task at the beginning of a turn: new, or as it was, and WORKING. */
export function firstEvent({ taskId, contextId, task, userMessage }: RequestContext): AgentExecutionEvent {
  const state = TaskState.TASK_STATE_WORKING;
  const status = { state, message: undefined, timestamp: new Date().toISOString() };
  if (task) return AgentEvent.task({ ...task, status });
  const history = [userMessage];
  return AgentEvent.task({ id: taskId, contextId, status, artifacts: [], history, metadata: undefined });
}

/** Whose event it is. */
type TaskIds = Pick<RequestContext, 'taskId' | 'contextId'>;

/** A chunk of the one artifact. */
export function chunkEvent(
  { taskId, contextId }: TaskIds,
  { text, append }: { readonly text: string; readonly append: boolean },
): AgentExecutionEvent {
  const artifact: Artifact = {
    artifactId: 'output',
    name: '',
    description: '',
    parts: [textPart(text)],
    metadata: undefined,
    extensions: [],
  };
  return AgentEvent.artifactUpdate({
    taskId,
    contextId,
    artifact,
    append,
    lastChunk: false,
    metadata: undefined,
  });
}

/** The status that ends a turn: COMPLETED, or the request for input. */
export function endEvent(
  { taskId, contextId }: TaskIds,
  { messageId, ask = false }: { readonly messageId: string; readonly ask?: boolean },
): AgentExecutionEvent {
  const state = ask ? TaskState.TASK_STATE_INPUT_REQUIRED : TaskState.TASK_STATE_COMPLETED;
  const message: Message = {
    messageId,
    contextId,
    taskId,
    role: Role.ROLE_AGENT,
    parts: [textPart('done')],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
  const status = { state, message, timestamp: new Date().toISOString() };
  return AgentEvent.statusUpdate({ taskId, contextId, status, metadata: undefined });
}

function textPart(value: string): Part {
  return { content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: '' };
}
