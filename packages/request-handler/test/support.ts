import { randomUUID } from 'node:crypto';
import { Role, type AgentCard, type Message, type SendMessageRequest } from '@a2a-js/sdk';
import { DefaultRequestHandler, ServerCallContext, type AgentExecutor } from '@a2a-js/sdk/server';
import { createSilentLogger, createSystemClock, type Clock, type Logger } from '@a2a-cluster/core';
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
  readonly journal: Journal;
  readonly stream: EventStream;
  readonly heartbeat: Heartbeat;
  readonly holder: string;
  close(): Promise<void>;
}

export interface TestReplicaOptions extends HandlerOptions {
  readonly executor: AgentExecutor;
  readonly database?: Database;
  readonly lease?: LeaseOptions;
  readonly holder?: string;
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly quiet?: () => boolean;
}

/** A replica without transports, sweeper and push, over a database in memory unless one is given. */
export async function startReplica(options: TestReplicaOptions): Promise<TestReplica> {
  const clock = options.clock ?? createSystemClock();
  const logger = options.logger ?? createSilentLogger();
  const database = options.database ?? createMemoryDatabase({ clock });
  const lease = resolveLeaseOptions(options.lease ?? { ttlMs: 3_000, heartbeatMs: 500 });
  const holder = options.holder ?? `replica-${randomUUID().slice(0, 8)}`;
  const stream = createEventStream({
    database,
    clock,
    logger,
    options: { hints: 'auto', pollIntervalMs: 20 },
  });
  const heartbeat = createHeartbeat({ leases: database.leases, holder, options: lease, clock, logger });
  const reader = createTaskReader({ database });
  const onCommitted = (committed: Parameters<EventStream['committed']>[0]): void =>
    stream.committed(committed);
  const journal = createJournal({ database, clock, logger, holder, ttlMs: lease.ttlMs, onCommitted });
  const {
    executor,
    database: _database,
    lease: _lease,
    holder: _holder,
    clock: _clock,
    logger: _logger,
    quiet,
    ...rest
  } = options;
  const resolved = resolveHandlerOptions(
    { cancelGraceMs: lease.cancelGraceMs, ...rest },
    { heartbeatMs: lease.heartbeatMs, trustMs: lease.ttlMs - lease.marginMs },
  );
  const turnParts = {
    journal,
    stream,
    heartbeat,
    clock,
    logger,
    holder,
    ttlMs: lease.ttlMs,
    options: resolved,
  };
  const turns = new RunningTurns({ ...turnParts, newId: () => randomUUID() });
  const store = createSdkTaskStore({ database, reader, logger });
  const handler = createClusterRequestHandler({
    ...turnParts,
    card,
    executor,
    reader,
    turns,
    inner: new DefaultRequestHandler(card, store, executor),
    pushConfigs: null,
    rules: { card, validateInputModes: false },
    statements: database.journal,
    leases: database.leases,
    cancelGraceMs: resolved.cancelGraceMs,
    quiet: quiet ?? (() => false),
    scopeOf: (context) => scopeOf(context),
  });
  await stream.start();
  await heartbeat.start();
  return {
    handler,
    journal,
    stream,
    heartbeat,
    holder,
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
