import { randomUUID } from 'node:crypto';
import type { Message, SendMessageRequest, Task, TaskState } from '@a2a-js/sdk';
import { A2AError } from '@a2a-js/sdk/errors';
import type { AgentExecutor, PushNotificationStore, ServerCallContext } from '@a2a-js/sdk/server';
import {
  activeTrace,
  encodeEvent,
  traced,
  type Clock,
  type Logger,
  type OpenRefusal,
  type OpenSpan,
  type Scope,
  type Telemetry,
  type TraceContext,
} from '@a2a-cluster/core';
import type { JournalStatements } from '@a2a-cluster/db';
import type { EventStream, Tail } from '@a2a-cluster/event-stream';
import type { Journal, TaskReader } from '@a2a-cluster/task-store';
import { filterExtensions, type AdmissionRules } from './admission.js';
import { contentKey, isOtherMessage } from './message-key.js';
import type { ResolvedHandlerOptions } from './options.js';
import { readOpened } from './read-opened.js';
import {
  contextMismatch,
  overLimit,
  replicaClosed,
  taskBusy,
  taskEnded,
  taskNotFound,
  tooManyMessages,
} from './refusals.js';
import type { RunningTurn } from './running-turn.js';
import type { RunningTurns, TurnPlace } from './running-turns.js';
import { createRequestContext } from './turn-context.js';
import { waitForRelease } from './wait-for-release.js';

/** What opening a turn needs. */
export interface OpenTurnParts {
  readonly executor: AgentExecutor;
  readonly journal: Journal;
  readonly statements: Pick<JournalStatements, 'look'>;
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
  /** Default: nobody. */
  readonly telemetry?: Telemetry | undefined;
  /** Whether nothing may be claimed now, by a fresh reading of the database's clock (protocol 2). Never rejects. */
  freshlyQuiet(): Promise<boolean>;
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
  readonly authenticated: boolean;
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
  const trace = activeTrace();
  return traced('a2a.admission', (span) => admit(parts, incoming, { trace, span }));
}

/** A place for a turn, and where its trace begins. */
interface Admission {
  readonly place: TurnPlace;
  readonly trace: TraceContext | undefined;
}

async function admit(
  parts: OpenTurnParts,
  incoming: Incoming,
  traces: { readonly trace: TraceContext | undefined; readonly span: OpenSpan },
): Promise<Opened> {
  const { trace, span } = traces;
  span.note(() => ({ 'a2a.replica_id': parts.holder }));
  const place = parts.turns.admit(incoming);
  try {
    const pushConfig = incoming.request.configuration?.taskPushNotificationConfig;
    if (pushConfig && parts.pushConfigs) await parts.checkPushConfig?.(pushConfig);
    const admission = { place, trace };
    const opened = incoming.message.taskId
      ? await openFollowUp(parts, incoming, admission)
      : await openNew(parts, incoming, admission);
    span.note(() => ({
      'a2a.task_id': opened.taskId,
      'a2a.repeated': opened.kind === 'repeat',
      ...(opened.epoch === null ? {} : { 'a2a.epoch': opened.epoch }),
    }));
    return opened;
  } finally {
    place.free();
  }
}

async function openNew(parts: OpenTurnParts, incoming: Incoming, admission: Admission): Promise<Opened> {
  const { place, trace } = admission;
  const taskId = randomUUID();
  const contextId = incoming.message.contextId || randomUUID();
  const referenceTasks = await readReferences(parts, incoming);
  await savePushConfig(parts, incoming, taskId);
  const userMessage = { ...incoming.message, taskId, contextId };
  const turn = place.begin({ taskId, contextId, scope: incoming.scope, userMessage, opened: null, trace });
  const tail = begin(parts, turn, {
    incoming,
    context: { taskId, contextId, userMessage, task: undefined, referenceTasks },
    after: 0,
  });
  return { kind: 'turn', turn, tail, taskId, epoch: null, stateBefore: undefined };
}

async function openFollowUp(parts: OpenTurnParts, incoming: Incoming, admission: Admission): Promise<Opened> {
  const { place, trace } = admission;
  const { message, scope } = incoming;
  const { taskId } = message;
  const referenceTasks = await readReferences(parts, incoming);
  const opened = await takeLease(parts, incoming);
  if (opened.kind === 'repeat') return opened;
  const { epoch, sentAtMs } = opened;
  const task = await readOpened(parts, { taskId, scope, epoch, sentAtMs });
  const { contextId } = task;
  const userMessage = { ...message, contextId };
  const turn = place.begin({
    taskId,
    contextId,
    scope,
    userMessage,
    opened: { epoch, sentAtMs, version: epoch, task },
    trace,
  });
  try {
    await savePushConfig(parts, incoming, taskId);
  } catch (error) {
    parts.turns.fail(turn, withoutInside(error));
    throw error;
  }
  const tail = begin(parts, turn, {
    incoming,
    context: { taskId, contextId, userMessage, task: structuredClone(task), referenceTasks },
    after: epoch,
  });
  return { kind: 'turn', turn, tail, taskId, epoch, stateBefore: task.status?.state };
}

interface Begin {
  readonly incoming: Incoming;
  readonly context: {
    readonly taskId: string;
    readonly contextId: string;
    readonly userMessage: Message;
    readonly task: Task | undefined;
    readonly referenceTasks: Task[] | undefined;
  };
  /** The seq after which the caller follows. */
  readonly after: number;
}

/** Starts the executor; gives the tail that follows it. Where that fails the turn ends: its message is in the log. */
function begin(parts: OpenTurnParts, turn: RunningTurn, { incoming, context, after }: Begin): Tail {
  const { taskId } = context;
  let tail: Tail | null = null;
  try {
    const { signal } = incoming;
    tail = parts.stream.attach({ taskId, after, ...(signal && { signal }) });
    filterExtensions(parts.rules.card, incoming.context);
    const { userMessage, ...rest } = context;
    const made = createRequestContext(
      { ...rest, request: { ...incoming.request, message: userMessage }, context: incoming.context },
      turn.handle,
    );
    parts.turns.run(turn, { executor: parts.executor, context: made });
    return tail;
  } catch (error) {
    tail?.close();
    parts.turns.fail(turn, withoutInside(error));
    throw error;
  }
}

/** What a task may say of a failure that is none of its agent's. */
function withoutInside(error: unknown): unknown {
  return error instanceof A2AError ? error : new Error('the turn could not be started');
}

type TakenLease =
  | { readonly kind: 'taken'; readonly epoch: number; readonly sentAtMs: number }
  | { readonly kind: 'repeat'; readonly taskId: string; readonly epoch: number };

async function takeLease(parts: OpenTurnParts, incoming: Incoming): Promise<TakenLease> {
  const { taskId } = incoming.message;
  let key = incoming.message.messageId;
  const attempt = (takeOver = false): ReturnType<Journal['openTurn']> =>
    parts.journal.openTurn(openRequest(parts, incoming, { messageId: key, takeOver }));
  let opened = await attempt();
  if (!opened.ok && opened.refusal === 'duplicate' && (await reusesId(parts, incoming))) {
    key = contentKey(incoming.message);
    opened = await attempt();
  }
  if (!opened.ok && opened.refusal === 'parked_busy') {
    const { stream, clock, options } = parts;
    await waitForRelease({
      stream,
      clock,
      taskId,
      epoch: opened.epoch,
      limitMs: options.heartbeatMs,
      signal: parts.turns.closed,
    });
    if (parts.turns.closed.aborted) throw replicaClosed();
    // Also when the time is up: where hints are missing, the release may not have been heard of yet.
    opened = await attempt();
  }
  // Rare, so only here the clock is asked: it may have stepped since the sweeper looked, and the holder be alive.
  if (!opened.ok && isClaimable(opened.refusal) && !(await parts.freshlyQuiet()))
    opened = await attempt(true);
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
    case 'too_many_messages':
      throw tooManyMessages(taskId, parts.options.maxTaskMessages);
    case 'busy':
    case 'parked_busy':
    case 'abandoned':
    case 'expired':
      throw parts.turns.refused('TASK_BUSY', taskBusy(taskId, parts.options.heartbeatMs));
  }
}

/** Whether only an expired lease is in the way. */
function isClaimable(refusal: OpenRefusal['refusal']): boolean {
  return refusal === 'abandoned' || refusal === 'expired';
}

/** Whether the id of the message is that of an earlier one which says something else. */
async function reusesId(parts: OpenTurnParts, { message, scope }: Incoming): Promise<boolean> {
  const stored = await parts.reader.read({ taskId: message.taskId, scope });
  return stored !== null && isOtherMessage(stored.task, message);
}

/** @throws A2AError when the message is larger than an event may be. */
function openRequest(
  parts: OpenTurnParts,
  incoming: Incoming,
  how: { readonly messageId: string; readonly takeOver: boolean },
): Parameters<Journal['openTurn']>[0] {
  const { message, scope } = incoming;
  const { messageId, takeOver } = how;
  const payload = encodeEvent({ kind: 'message', data: message });
  const { maxEventBytes, maxTaskMessages } = parts.options;
  if (Buffer.byteLength(payload, 'utf8') > maxEventBytes)
    throw overLimit({
      reason: 'MESSAGE_TOO_LARGE',
      limit: maxEventBytes,
      message: `The message is larger than ${maxEventBytes} bytes.`,
    });
  return {
    taskId: message.taskId,
    scope,
    contextId: message.contextId || null,
    holder: parts.holder,
    ttlMs: parts.ttlMs,
    takeOver,
    maxMessages: maxTaskMessages,
    event: { kind: 'message', payload, writeId: randomUUID(), messageId },
  };
}

async function readReferences(parts: OpenTurnParts, incoming: Incoming): Promise<Task[] | undefined> {
  const ids = incoming.message.referenceTaskIds ?? [];
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
