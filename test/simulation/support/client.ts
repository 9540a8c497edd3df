import {
  Role,
  TaskState,
  type Message,
  type SendMessageRequest,
  type StreamResponse,
  type Task,
} from '@a2a-js/sdk';
import { A2AError, TaskNotCancelableError, UnsupportedOperationError } from '@a2a-js/sdk/errors';
import { ServerCallContext } from '@a2a-js/sdk/server';
import { isTerminalName } from '@a2a-cluster/core';
import { Follower, versionOf, type Following } from './follower.js';
import type { SimReplica } from './sim-replica.js';
import { LEASE, type World } from './world.js';

/** Sooner than this nobody may give up on what a write has come to: the lease lives. */
const SOON_MS = 9_000;

/** A call of a client that has not been answered. */
interface OpenCall {
  readonly replica: SimReplica;
  readonly what: string;
  readonly askedMs: number;
  readonly follower: Follower | null;
}

/** Clients: they call a replica, and judge what they are told by the log. */
export class Clients {
  /** Calls under way. */
  readonly open = new Set<OpenCall>();
  /** Messages that were sent more than once: one may be refused where the other was not. */
  readonly repeated = new Set<string>();
  /** A caller was told that its task waits for input. */
  onInputRequired: (taskId: string) => void = () => {};

  constructor(private readonly world: World) {}

  /** Sends a message and takes the task; `taskId` empty: a new one. */
  send(replica: SimReplica, message: Message, immediately: boolean): void {
    const { taskId, messageId } = message;
    void this.call({ replica, what: `send ${taskId}`, follower: null }, async (handler) => {
      const answer = await handler.sendMessage(requestOf(message, immediately), callContext());
      if ('messageId' in answer) return;
      this.judgeTask(answer, taskId);
      if (answer.status?.state === TaskState.TASK_STATE_INPUT_REQUIRED) this.onInputRequired(answer.id);
    }).then((error) => this.judgeRefusal(error, { taskId, messageId }));
  }

  /** Sends a message and follows its turn. */
  stream(replica: SimReplica, message: Message): void {
    const { taskId, messageId } = message;
    const following: Following = taskId ? { kind: 'followUp', taskId, messageId } : { kind: 'new' };
    const follower = new Follower(this.world, following);
    void this.call({ replica, what: `stream ${taskId}`, follower }, (handler) =>
      this.follow(follower, handler.sendMessageStream(requestOf(message, false), callContext())),
    ).then((error) => this.judgeRefusal(error, { taskId, messageId }));
  }

  subscribe(replica: SimReplica, taskId: string): void {
    const follower = new Follower(this.world, { kind: 'subscribe', taskId });
    void this.call({ replica, what: `subscribe ${taskId}`, follower }, async (handler) => {
      await this.follow(follower, handler.resubscribe({ id: taskId, tenant: '' }, callContext()));
      if (replica.state === 'running') follower.ended();
    });
  }

  cancel(replica: SimReplica, taskId: string): void {
    const { world } = this;
    const askedMs = world.scheduler.nowMs;
    const state = (): string | undefined => world.watch.tasks.get(taskId)?.state;
    void this.call({ replica, what: `cancel ${taskId}`, follower: null }, async (handler) => {
      await handler.cancelTask({ id: taskId, tenant: '', metadata: undefined }, callContext());
      if (state() !== 'TASK_STATE_CANCELED')
        world.violated(`I4 a cancel was told done, the task is ${state()} (task ${taskId})`);
    }).then((error) => {
      const tookMs = world.scheduler.nowMs - askedMs;
      if (tookMs > LEASE.cancelGraceMs + 1_500 && world.faults.only('hints', 'kill', 'close'))
        world.violated(`I9 a cancel took ${tookMs} ms (task ${taskId})`);
      if (error instanceof TaskNotCancelableError && !isTerminalName(state() ?? ''))
        world.violated(`I1 told not cancelable, the task is ${state()} (task ${taskId})`);
    });
  }

  /** Whether somebody waits for something that must come: anything but a next turn. */
  get waiting(): boolean {
    return [...this.open].some((call) => call.replica.state !== 'killed' && !isPatient(call));
  }

  /** When everything is at rest: who still waits, and for what? */
  settled(): void {
    for (const call of this.open) {
      const { replica, what, follower } = call;
      if (replica.state === 'killed') continue;
      if (follower && replica.state === 'running') follower.settled();
      else this.world.violated(`I12 never answered: ${what} at ${replica.name}, which is ${replica.state}`);
    }
  }

  /** Runs a call at a replica; gives the error it ended with. Never rejects, and never settles where the replica dies. */
  private async call(
    asked: Omit<OpenCall, 'askedMs'>,
    ask: (handler: Handler) => Promise<void>,
  ): Promise<unknown> {
    const { world } = this;
    const open: OpenCall = { ...asked, askedMs: world.scheduler.nowMs };
    const { replica, what } = open;
    if (replica.cluster === null) return undefined;
    this.open.add(open);
    let failure: unknown;
    try {
      await ask(replica.cluster.requestHandler);
      world.note(`client: ${what} at ${replica.name} is done`);
    } catch (error) {
      failure = error;
      world.note(`client: ${what} at ${replica.name} failed: ${String(error)}`);
      this.judgeError(open, error);
    }
    this.open.delete(open);
    return failure;
  }

  private async follow(follower: Follower, source: AsyncIterable<StreamResponse>): Promise<void> {
    for await (const response of source) {
      this.world.note(`client: is told ${this.world.show(response.payload)}`);
      follower.take(response);
      const { payload } = response;
      if (payload?.$case !== 'statusUpdate') continue;
      if (payload.value.status?.state === TaskState.TASK_STATE_INPUT_REQUIRED)
        this.onInputRequired(payload.value.taskId);
    }
  }

  private judgeTask(task: Task, asked: string): void {
    const watched = this.world.watch.tasks.get(task.id);
    if (asked && asked !== task.id)
      this.world.violated(`I4 asked for task ${asked}, told of task ${task.id}`);
    if (watched === undefined || versionOf(watched, task) === undefined)
      this.world.violated(`I4 a caller was told of a task as it never was (task ${task.id})`);
  }

  /** A refusal has stored nothing (protocol 3.7 and 4). */
  private judgeRefusal(error: unknown, sent: { readonly taskId: string; readonly messageId: string }): void {
    const { taskId, messageId } = sent;
    if (!(error instanceof UnsupportedOperationError)) return;
    const { watch } = this.world;
    if (this.repeated.has(messageId)) return;
    if (watch.tasks.get(taskId)?.rows.some((row) => row.messageId === messageId))
      this.world.violated(`I4 a message was refused and is in the log (task ${taskId})`);
  }

  private judgeError({ what, askedMs }: OpenCall, error: unknown): void {
    const { faults, scheduler } = this.world;
    if (!(error instanceof A2AError) || error.message === 'Internal error.')
      this.world.violated(`I12 an error of ours reached a client: ${what}: ${String(error)}`);
    const reason = reasonOf(error);
    const afterMs = scheduler.nowMs - askedMs;
    if (reason === 'OUTCOME_UNKNOWN' && afterMs < SOON_MS && faults.only('statements', 'hints'))
      this.world.violated(`I12 the outcome was given up after ${afterMs} ms: ${what}`);
    if (reason === 'STORE_UNAVAILABLE' && faults.only('kill', 'hints', 'pause', 'step', 'close'))
      this.world.violated(`I12 the database was well and a client was told otherwise: ${what}`);
  }
}

/** A subscription of a replica that runs may wait for a next turn. */
function isPatient({ replica, follower }: OpenCall): boolean {
  return replica.state === 'running' && follower?.following.kind === 'subscribe';
}

type Handler = NonNullable<SimReplica['cluster']>['requestHandler'];

function reasonOf(error: unknown): unknown {
  return (error as { readonly metadata?: { readonly reason?: unknown } }).metadata?.reason;
}

function callContext(): ServerCallContext {
  return new ServerCallContext({
    requestedVersion: '1.0',
    user: { isAuthenticated: true, userName: 'alice' },
  });
}

/** A user's message; `taskId` empty: it begins a task. */
export function userMessage(messageId: string, taskId: string): Message {
  return {
    messageId,
    taskId,
    contextId: '',
    role: Role.ROLE_USER,
    parts: [
      { content: { $case: 'text', value: messageId }, metadata: undefined, filename: '', mediaType: '' },
    ],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
}

function requestOf(message: Message, immediately: boolean): SendMessageRequest {
  return {
    tenant: '',
    metadata: undefined,
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      historyLength: undefined,
      returnImmediately: immediately,
    },
    message,
  };
}
