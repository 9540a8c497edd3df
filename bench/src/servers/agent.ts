import { EventEmitter, once } from 'node:events';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import {
  Role,
  TaskState,
  type Artifact,
  type Message,
  type Task,
  type TaskArtifactUpdateEvent,
  type TaskStatusUpdateEvent,
} from '@a2a-js/sdk';
import type { AgentExecutor, ExecutionEventBus, RequestContext } from '@a2a-js/sdk/server';

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
    bus.publish({ kind: 'task', data: taskOf(context) });
    if (script.holdFirst) await released;
    const chunks = script.events - 2;
    for (let index = 0; index < chunks; index += 1) {
      await (script.paceMs ? pause(script.paceMs) : nextTurn());
      bus.publish({ kind: 'artifactUpdate', data: chunkOf(context, script, index) });
    }
    await released;
    await nextTurn();
    bus.publish({ kind: 'statusUpdate', data: endOf(context, script) });
    bus.finished();
  };

  cancelTask = async (): Promise<void> => {};
}

function scriptOf(message: Message): Script {
  const content = message.parts[0]?.content;
  return JSON.parse(content?.$case === 'text' ? content.value : '') as Script;
}

function taskOf({ taskId, contextId, task, userMessage }: RequestContext): Task {
  const status = {
    state: TaskState.TASK_STATE_WORKING,
    message: undefined,
    timestamp: new Date().toISOString(),
  };
  if (task) return { ...task, status };
  return { id: taskId, contextId, status, artifacts: [], history: [userMessage], metadata: undefined };
}

function chunkOf(context: RequestContext, script: Script, index: number): TaskArtifactUpdateEvent {
  const stamp = script.stamp === true ? `@${process.hrtime.bigint()}@` : '';
  const text = stamp.padEnd(script.bytes ?? 40, 'lorem ipsum ');
  const artifact: Artifact = {
    artifactId: 'output',
    name: '',
    description: '',
    parts: [{ content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: '' }],
    metadata: undefined,
    extensions: [],
  };
  const { taskId, contextId } = context;
  return { taskId, contextId, artifact, append: index > 0, lastChunk: false, metadata: undefined };
}

function endOf(context: RequestContext, script: Script): TaskStatusUpdateEvent {
  const { taskId, contextId } = context;
  const state = script.ask === true ? TaskState.TASK_STATE_INPUT_REQUIRED : TaskState.TASK_STATE_COMPLETED;
  const message: Message = {
    messageId: `${taskId}-${Math.random()}`,
    contextId,
    taskId,
    role: Role.ROLE_AGENT,
    parts: [{ content: { $case: 'text', value: 'done' }, metadata: undefined, filename: '', mediaType: '' }],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
  return {
    taskId,
    contextId,
    status: { state, message, timestamp: new Date().toISOString() },
    metadata: undefined,
  };
}
