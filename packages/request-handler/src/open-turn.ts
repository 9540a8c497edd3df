import { randomUUID } from 'node:crypto';
import type { Message, SendMessageRequest, Task, TaskState } from '@a2a-js/sdk';
import type { AgentExecutor, PushNotificationStore, ServerCallContext } from '@a2a-js/sdk/server';
import { encodeEvent, type Clock, type Logger, type Scope } from '@a2a-cluster/core';
import type { EventStream, Tail } from '@a2a-cluster/event-stream';
import type { Journal, TaskReader } from '@a2a-cluster/task-store';
import { filterExtensions, type AdmissionRules } from './admission.js';
import type { ResolvedHandlerOptions } from './options.js';
import { contextMismatch, taskBusy, taskEnded, taskNotFound } from './refusals.js';
import type { RunningTurn } from './running-turn.js';
import type { RunningTurns, TurnPlace } from './running-turns.js';
import { createRequestContext } from './turn-context.js';
import { waitForRelease } from './wait-for-release.js';

/** What opening a turn needs. */
export interface OpenTurnParts {
  readonly executor: AgentExecutor;
  readonly journal: Journal;
  readonly reader: TaskReader;
  readonly stream: EventStream;
  readonly turns: RunningTurns;
  readonly pushConfigs: PushNotificationStore | null;
  readonly rules: AdmissionRules;
  readonly options: ResolvedHandlerOptions;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly holder: string;
  readonly ttlMs: number;
  /** Whether nothing may be taken over now (protocol 2). */
  quiet(): boolean;
  /** @throws A2AError when a push config could not be saved; asked before anything is written. */
  checkPushConfig?(config: NonNullable<PushConfig>): Promise<void>;
}

type PushConfig = NonNullable<SendMessageRequest['configuration']>['taskPushNotificationConfig'];

/** A message on its way to an agent. */
export interface Incoming {
  readonly request: SendMessageRequest;
  readonly message: Message;
  readonly context: ServerCallContext;
  readonly scope: Scope;
  /** Ends the tail when the client has gone. */
  readonly signal: AbortSignal | undefined;
}

/** The turn that answers, or the earlier turn of the same message. */
export type Opened =
  | {
      readonly kind: 'turn';
      readonly turn: RunningTurn;
      readonly tail: Tail;
      readonly taskId: string;
      readonly epoch: number | null;
      readonly stateBefore: TaskState | undefined;
    }
  | { readonly kind: 'repeat'; readonly taskId: string; readonly epoch: number };

/**
 * Admits a message and starts the agent on it (protocol 4). Nothing is kept of a refused one.
 * @throws A2AError
 */
export async function openTurn(parts: OpenTurnParts, incoming: Incoming): Promise<Opened> {
  const place = parts.turns.admit();
  try {
    const pushConfig = incoming.request.configuration?.taskPushNotificationConfig;
    if (pushConfig && parts.pushConfigs) await parts.checkPushConfig?.(pushConfig);
    return incoming.message.taskId
      ? await openFollowUp(parts, incoming, place)
      : await openNew(parts, incoming, place);
  } finally {
    place.free();
  }
}

async function openNew(parts: OpenTurnParts, incoming: Incoming, place: TurnPlace): Promise<Opened> {
  const taskId = randomUUID();
  const contextId = incoming.message.contextId || randomUUID();
  const referenceTasks = await readReferences(parts, incoming);
  await savePushConfig(parts, incoming, taskId);
  const tail = parts.stream.attach({ taskId, after: 0, ...withSignal(incoming) });
  const userMessage = { ...incoming.message, taskId, contextId };
  const turn = place.begin({ taskId, contextId, scope: incoming.scope, userMessage, opened: null });
  start(parts, turn, { incoming, taskId, contextId, userMessage, task: undefined, referenceTasks });
  return { kind: 'turn', turn, tail, taskId, epoch: null, stateBefore: undefined };
}

async function openFollowUp(parts: OpenTurnParts, incoming: Incoming, place: TurnPlace): Promise<Opened> {
  const { message, scope } = incoming;
  const { taskId } = message;
  const opened = await takeLease(parts, incoming);
  if (opened.kind === 'repeat') return opened;
  const { epoch, sentAtMs } = opened;
  const stored = await parts.reader.read({ taskId, scope });
  if (stored === null) throw taskNotFound(taskId);
  const { task } = stored;
  const contextId = task.contextId;
  const userMessage = { ...message, contextId };
  const turn = place.begin({
    taskId,
    contextId,
    scope,
    userMessage,
    opened: { epoch, sentAtMs, version: epoch, task },
  });
  try {
    const referenceTasks = await readReferences(parts, incoming);
    await savePushConfig(parts, incoming, taskId);
    const tail = parts.stream.attach({ taskId, after: epoch, expectTask: true, ...withSignal(incoming) });
    start(parts, turn, {
      incoming,
      taskId,
      contextId,
      userMessage,
      task: structuredClone(task),
      referenceTasks,
    });
    return { kind: 'turn', turn, tail, taskId, epoch, stateBefore: task.status?.state };
  } catch (error) {
    // The message is in the log already: the turn must end there too.
    parts.turns.fail(turn, error);
    throw error;
  }
}

type TakenLease =
  | { readonly kind: 'taken'; readonly epoch: number; readonly sentAtMs: number }
  | { readonly kind: 'repeat'; readonly taskId: string; readonly epoch: number };

async function takeLease(parts: OpenTurnParts, incoming: Incoming): Promise<TakenLease> {
  const { taskId } = incoming.message;
  const attempt = (): ReturnType<Journal['openTurn']> => parts.journal.openTurn(openRequest(parts, incoming));
  let opened = await attempt();
  if (!opened.ok && opened.refusal === 'parked_busy') {
    const { stream, clock, options } = parts;
    const released = await waitForRelease({
      stream,
      clock,
      taskId,
      epoch: opened.epoch,
      limitMs: options.heartbeatMs,
    });
    if (released) opened = await attempt();
  }
  if (opened.ok) return { kind: 'taken', epoch: opened.epoch, sentAtMs: opened.sentAtMs };
  switch (opened.refusal) {
    case 'duplicate':
      return { kind: 'repeat', taskId, epoch: opened.epoch };
    case 'not_found':
      throw taskNotFound(taskId);
    case 'context_mismatch':
      throw contextMismatch(taskId, incoming.message.contextId);
    case 'terminal':
      throw taskEnded(taskId, opened.state);
    case 'busy':
    case 'parked_busy':
    case 'abandoned':
      throw taskBusy(taskId, parts.options.heartbeatMs);
  }
}

function openRequest(parts: OpenTurnParts, incoming: Incoming): Parameters<Journal['openTurn']>[0] {
  const { message, scope } = incoming;
  return {
    taskId: message.taskId,
    scope,
    contextId: message.contextId || null,
    holder: parts.holder,
    ttlMs: parts.ttlMs,
    takeOver: !parts.quiet(),
    event: {
      kind: 'message',
      payload: encodeEvent({ kind: 'message', data: message }),
      writeId: randomUUID(),
      messageId: message.messageId,
    },
  };
}

interface Start {
  readonly incoming: Incoming;
  readonly taskId: string;
  readonly contextId: string;
  readonly userMessage: Message;
  readonly task: Task | undefined;
  readonly referenceTasks: Task[] | undefined;
}

function start(parts: OpenTurnParts, turn: RunningTurn, begin: Start): void {
  const { incoming, taskId, contextId, userMessage, task, referenceTasks } = begin;
  filterExtensions(parts.rules.card, incoming.context);
  const request = { ...incoming.request, message: userMessage };
  const context = createRequestContext(
    { request, taskId, contextId, context: incoming.context, task, referenceTasks },
    turn.handle,
  );
  parts.turns.run(turn, { executor: parts.executor, context });
}

async function readReferences(parts: OpenTurnParts, incoming: Incoming): Promise<Task[] | undefined> {
  const ids = incoming.message.referenceTaskIds;
  if (ids.length === 0) return undefined;
  const found: Task[] = [];
  for (const taskId of ids) {
    const stored = await parts.reader.read({ taskId, scope: incoming.scope });
    if (stored) found.push(stored.task);
    else parts.logger.warn({ taskId }, 'a reference task was not found');
  }
  return found;
}

async function savePushConfig(parts: OpenTurnParts, incoming: Incoming, taskId: string): Promise<void> {
  const config = incoming.request.configuration?.taskPushNotificationConfig;
  if (!config || !parts.pushConfigs) return;
  await parts.pushConfigs.save(taskId, incoming.context, { ...structuredClone(config), taskId });
}

function withSignal(incoming: Incoming): { readonly signal?: AbortSignal } {
  return incoming.signal ? { signal: incoming.signal } : {};
}
