import { randomUUID } from 'node:crypto';
import { afterEach } from '@jest/globals';
import {
  Role,
  TaskState,
  type AgentCard,
  type Message,
  type SendMessageRequest,
  type StreamResponse,
  type Task,
} from '@a2a-js/sdk';
import {
  DefaultRequestHandler,
  ServerCallContext,
  type AgentExecutor,
  type PushNotificationStore,
} from '@a2a-js/sdk/server';
import {
  createSilentLogger,
  createSystemClock,
  type Clock,
  type Logger,
  type Telemetry,
} from '@a2a-cluster/core';
import { createMemoryDatabase, type Database } from '@a2a-cluster/db';
import { createEventStream, type EventStream } from '@a2a-cluster/event-stream';
import {
  createHeartbeat,
  resolveLeaseOptions,
  type Heartbeat,
  type LeaseOptions,
} from '@a2a-cluster/lease-store';
import {
  createJournal,
  createSdkTaskStore,
  createTaskReader,
  scopeOf,
  type CommitListener,
  type Journal,
} from '@a2a-cluster/task-store';
import {
  createClusterRequestHandler,
  resolveHandlerOptions,
  RunningTurns,
  type ClusterRequestHandler,
  type HandlerOptions,
} from '../src/index.js';

/** A card that allows everything. */
export const card: AgentCard = {
  name: 'test agent',
  description: '',
  version: '1',
  documentationUrl: undefined,
  iconUrl: undefined,
  provider: undefined,
  capabilities: { streaming: true, pushNotifications: false, extensions: [], extendedAgentCard: false },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
  securitySchemes: {},
  securityRequirements: [],
  signatures: [],
  supportedInterfaces: [],
};

export interface TestReplica {
  readonly handler: ClusterRequestHandler;
  readonly turns: RunningTurns;
  readonly database: Database;
  readonly journal: Journal;
  readonly stream: EventStream;
  readonly heartbeat: Heartbeat;
  readonly holder: string;
  close(): Promise<void>;
}

export interface TestReplicaOptions {
  readonly executor: AgentExecutor;
  readonly database?: Database;
  readonly lease?: LeaseOptions;
  readonly handler?: HandlerOptions;
  readonly holder?: string;
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly telemetry?: Telemetry;
  readonly pollIntervalMs?: number;
  readonly quiet?: () => boolean | Promise<boolean>;
  readonly pushConfigs?: PushNotificationStore;
  /** Hears of every commit after the stream. */
  readonly onCommitted?: CommitListener;
}

/** A replica without transports, sweeper and push, over a database in memory unless one is given. */
export async function startReplica(options: TestReplicaOptions): Promise<TestReplica> {
  const { executor, quiet, pushConfigs, onCommitted } = options;
  const clock = options.clock ?? createSystemClock();
  const logger = options.logger ?? createSilentLogger();
  const database = options.database ?? createMemoryDatabase({ clock });
  const lease = resolveLeaseOptions(options.lease ?? { ttlMs: 3_000, heartbeatMs: 500 });
  const holder = options.holder ?? `replica-${randomUUID().slice(0, 8)}`;
  const pollIntervalMs = options.pollIntervalMs ?? 20;
  const stream = createEventStream({ database, clock, logger, options: { hints: 'auto', pollIntervalMs } });
  const heartbeat = createHeartbeat({ leases: database.leases, holder, options: lease, clock, logger });
  const reader = createTaskReader({ database });
  const journal = createJournal({
    ...{ database, clock, logger, holder, ttlMs: lease.ttlMs },
    onCommitted: (committed) => {
      stream.committed(committed);
      onCommitted?.(committed);
    },
  });
  const resolved = resolveHandlerOptions(
    { cancelGraceMs: lease.cancelGraceMs, ...options.handler },
    { heartbeatMs: lease.heartbeatMs, trustMs: lease.ttlMs - lease.marginMs },
  );
  const turnParts = {
    ...{ journal, stream, heartbeat, clock, logger, holder, ttlMs: lease.ttlMs },
    options: resolved,
  };
  const turns = new RunningTurns({ ...turnParts, newId: () => randomUUID() });
  const store = createSdkTaskStore({ database, reader, logger });
  const handler = createClusterRequestHandler({
    ...turnParts,
    ...{ card, executor, reader, turns },
    inner: new DefaultRequestHandler(card, store, executor),
    pushConfigs: pushConfigs ?? null,
    rules: { card, validateInputModes: false },
    statements: database.journal,
    leases: database.leases,
    cancelGraceMs: resolved.cancelGraceMs,
    telemetry: options.telemetry,
    freshlyQuiet: async () => (await quiet?.()) ?? false,
    scopeOf: (context) => scopeOf(context),
  });
  await stream.start();
  await heartbeat.start();
  return {
    ...{ handler, turns, journal, stream, heartbeat, holder, database },
    async close() {
      await handler.closeTurns({ drainTimeoutMs: 1, fail: true, writeTimeoutMs: 500 });
      await stream.close();
      await heartbeat.close();
    },
  };
}

export function contextOf(user = 'alice'): ServerCallContext {
  return new ServerCallContext({ requestedVersion: '1.0', user: { isAuthenticated: true, userName: user } });
}

export function request(
  text: string,
  more: Partial<Message> & { readonly immediately?: boolean } = {},
): SendMessageRequest {
  const { immediately, ...message } = more;
  return {
    tenant: '',
    metadata: undefined,
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      historyLength: undefined,
      returnImmediately: immediately ?? false,
    },
    message: {
      messageId: randomUUID(),
      taskId: '',
      contextId: '',
      role: Role.ROLE_USER,
      parts: [{ content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: '' }],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
      ...message,
    },
  };
}

export function executor(
  execute: AgentExecutor['execute'],
  cancelTask?: AgentExecutor['cancelTask'],
): AgentExecutor {
  return { execute, cancelTask: cancelTask ?? (() => Promise.resolve()) };
}

/** Replicas of one test file; closed after each test. */
export function replicasOfTest(): (options: TestReplicaOptions) => Promise<TestReplica> {
  const replicas: TestReplica[] = [];
  afterEach(async () => {
    for (const replica of replicas.splice(0)) await replica.close();
  });
  return async (options) => {
    const replica = await startReplica(options);
    replicas.push(replica);
    return replica;
  };
}

/** Sends and gives the task that answers. */
export async function send(replica: TestReplica, message: SendMessageRequest): Promise<Task> {
  return (await replica.handler.sendMessage(message, contextOf())) as Task;
}

export function stream(replica: TestReplica, message: SendMessageRequest): Promise<StreamResponse[]> {
  return collect(replica.handler.sendMessageStream(message, contextOf()));
}

export function subscribe(replica: TestReplica, id: string): Promise<StreamResponse[]> {
  return collect(replica.handler.resubscribe({ id, tenant: '' }, contextOf()));
}

export function cancel(replica: TestReplica, id: string): Promise<Task> {
  return replica.handler.cancelTask({ id, tenant: '', metadata: undefined }, contextOf());
}

export async function collect(
  source: AsyncGenerator<StreamResponse, void, undefined>,
): Promise<StreamResponse[]> {
  const events: StreamResponse[] = [];
  for await (const event of source) events.push(event);
  return events;
}

/** What a stream said, in short: `task`, `artifactUpdate`, or the state of a status update. */
export function told(events: readonly StreamResponse[]): string[] {
  return events.map(({ payload }) => {
    if (payload?.$case !== 'statusUpdate') return payload?.$case ?? '';
    return stateText(payload.value.status?.state);
  });
}

/** `COMPLETED` of `TASK_STATE_COMPLETED`. */
export function stateOf(task: Task | undefined): string {
  return stateText(task?.status?.state);
}

function stateText(state: TaskState | undefined): string {
  return (TaskState[state ?? 0] ?? '').replace('TASK_STATE_', '');
}

/** The text of the status message. */
export function statusText(task: Task): string {
  const content = task.status?.message?.parts[0]?.content;
  return content?.$case === 'text' ? content.value : '';
}

/** Why the cluster ended the task. */
export function reasonOf(task: Task): unknown {
  return (task.metadata?.['a2a-cluster'] as { reason?: string } | undefined)?.reason;
}

/** A promise that is settled from outside. */
export interface Gate<T = void> {
  readonly passed: Promise<T>;
  open(value: T): void;
}

export function gate<T = void>(): Gate<T> {
  let open!: (value: T) => void;
  const passed = new Promise<T>((resolve) => (open = resolve));
  return { passed, open };
}

/** Resolves when the condition holds; looked at on every turn of the event loop. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 2));
}

/** The log in short: kind, epoch. */
export async function logOf(database: Database, taskId: string): Promise<string[]> {
  const rows = await database.log.readEvents({ taskId, after: 0, limit: 1_000 });
  return rows.map((row) => `${row.kind}/${row.epoch}`);
}
