import type { AgentCard, Message, StreamResponse, Task } from '@a2a-js/sdk';
import { UnsupportedOperationError } from '@a2a-js/sdk/errors';
import type { A2ARequestHandler, PushNotificationStore, ServerCallContext } from '@a2a-js/sdk/server';
import type { Scope } from '@a2a-cluster/core';
import { checkMessage, checkScope, checkTaskId } from './admission.js';
import { cancelTask, type CancelParts } from './cancel-task.js';
import { checkParts } from './check-parts.js';
import type { Incoming, OpenTurnParts } from './open-turn.js';
import { checkDepth, checkLimits } from './message-limits.js';
import { StreamPlaces, type Caller } from './owner-places.js';
import { toClientError } from './refusals.js';
import { currentConnection } from './request-signal.js';
import type { CloseTurns } from './running-turns.js';
import { sendMessage, streamMessage } from './send-message.js';
import { subscribe } from './subscribe.js';
import { untilClosed } from './until-closed.js';

/** What a {@link ClusterRequestHandler} is composed of. */
export interface ClusterRequestHandlerParts extends OpenTurnParts, CancelParts {
  readonly card: AgentCard;
  /** Answers what needs no turn: cards, get, list and push configs, with the SDK's own checks and errors. */
  readonly inner: A2ARequestHandler;
  readonly pushConfigs: PushNotificationStore | null;
  /** Whose request it is. */
  scopeOf(context: ServerCallContext): Scope;
}

/**
 * The SDK's request handler for a cluster: every replica answers every request, and a turn runs on one of them.
 * The transports take it in place of `DefaultRequestHandler`.
 */
export interface ClusterRequestHandler extends A2ARequestHandler {
  /** Turns of this replica that may still write. */
  readonly runningTurns: number;
  /** Refuses new turns from now on; everything else goes on. */
  drain(): void;
  /** Refuses new turns, as a drain does, or takes them again; a drain is not undone by it. */
  pause(on: boolean): void;
  /**
   * Cancels a task for whoever may, an operator say: the caller answers for the scope. As `cancelTask` otherwise.
   * @throws A2AError: not found, ended some other way first, or this replica closed meanwhile.
   */
  cancelAs(taskId: string, scope: Scope): Promise<Task>;
  /** Drains, then ends the turns that are left (protocol 10). Bounded. */
  closeTurns(close: CloseTurns): Promise<void>;
}

const NEEDED = [
  ...(['card', 'executor', 'inner', 'rules', 'journal', 'statements', 'leases', 'reader', 'stream'] as const),
  ...([
    'turns',
    'options',
    'clock',
    'logger',
    'holder',
    'ttlMs',
    'cancelGraceMs',
    'freshlyQuiet',
    'scopeOf',
  ] as const),
];

/**
 * Composes the handler.
 * @throws ClusterError `CONFIG_INVALID` naming the parts that are missing.
 */
export function createClusterRequestHandler(parts: ClusterRequestHandlerParts): ClusterRequestHandler {
  checkParts('the request handler', parts, NEEDED);
  return new Handler(parts);
}

type Params<K extends keyof A2ARequestHandler> = Parameters<A2ARequestHandler[K]>[0];

/** A stream that is about to begin, and for whom. */
interface NewStream {
  readonly caller: Caller;
  follow(): AsyncGenerator<StreamResponse, void, undefined>;
}

class Handler implements ClusterRequestHandler {
  private readonly streams: StreamPlaces;

  constructor(private readonly parts: ClusterRequestHandlerParts) {
    this.streams = new StreamPlaces(parts.options);
  }

  get runningTurns(): number {
    return this.parts.turns.count;
  }

  drain(): void {
    this.parts.turns.drain();
  }

  pause(on: boolean): void {
    this.parts.turns.pause(on);
  }

  cancelAs(taskId: string, scope: Scope): Promise<Task> {
    return this.guard(() => cancelTask(this.parts, { taskId, scope }));
  }

  closeTurns(close: CloseTurns): Promise<void> {
    return this.parts.turns.close(close);
  }

  sendMessage(params: Params<'sendMessage'>, context: ServerCallContext): Promise<Message | Task> {
    return this.guard(() => sendMessage(this.parts, this.incoming(params, context)));
  }

  sendMessageStream(
    params: Params<'sendMessageStream'>,
    context: ServerCallContext,
  ): AsyncGenerator<StreamResponse, void, undefined> {
    return this.guardStream(() => {
      this.checkStreaming('Streaming is not supported.');
      const caller = this.incoming(params, context);
      return { caller, follow: () => streamMessage(this.parts, caller, currentConnection()) };
    });
  }

  cancelTask(params: Params<'cancelTask'>, context: ServerCallContext): Promise<Task> {
    return this.guard(() => {
      const scope = this.scope(context);
      checkTaskId(params.id);
      checkDepth('metadata', params.metadata, this.parts.options);
      return cancelTask(this.parts, { taskId: params.id, scope });
    });
  }

  resubscribe(
    params: Params<'resubscribe'>,
    context: ServerCallContext,
  ): AsyncGenerator<StreamResponse, void, undefined> {
    return this.guardStream(() => {
      this.checkStreaming('Streaming (and thus resubscription) is not supported.');
      const caller = this.caller(context);
      const { scope } = caller;
      checkTaskId(params.id);
      const subscription = { taskId: params.id, scope, connection: currentConnection() };
      return { caller, follow: () => subscribe(this.parts, subscription) };
    });
  }

  getAgentCard(): Promise<AgentCard> {
    return this.parts.inner.getAgentCard();
  }

  getAuthenticatedExtendedAgentCard(
    params: Params<'getAuthenticatedExtendedAgentCard'>,
    context: ServerCallContext,
  ): Promise<AgentCard> {
    return this.guard(() => this.parts.inner.getAuthenticatedExtendedAgentCard(params, context));
  }

  getTask(params: Params<'getTask'>, context: ServerCallContext): Promise<Task> {
    return this.delegate('getTask', params, context);
  }

  listTasks(
    params: Params<'listTasks'>,
    context: ServerCallContext,
  ): ReturnType<A2ARequestHandler['listTasks']> {
    return this.delegate('listTasks', params, context);
  }

  createTaskPushNotificationConfig(
    params: Params<'createTaskPushNotificationConfig'>,
    context: ServerCallContext,
  ): ReturnType<A2ARequestHandler['createTaskPushNotificationConfig']> {
    return this.delegate('createTaskPushNotificationConfig', params, context);
  }

  getTaskPushNotificationConfig(
    params: Params<'getTaskPushNotificationConfig'>,
    context: ServerCallContext,
  ): ReturnType<A2ARequestHandler['getTaskPushNotificationConfig']> {
    return this.delegate('getTaskPushNotificationConfig', params, context);
  }

  listTaskPushNotificationConfigs(
    params: Params<'listTaskPushNotificationConfigs'>,
    context: ServerCallContext,
  ): ReturnType<A2ARequestHandler['listTaskPushNotificationConfigs']> {
    return this.delegate('listTaskPushNotificationConfigs', params, context);
  }

  deleteTaskPushNotificationConfig(
    params: Params<'deleteTaskPushNotificationConfig'>,
    context: ServerCallContext,
  ): Promise<void> {
    return this.delegate('deleteTaskPushNotificationConfig', params, context);
  }

  private delegate<P, R>(verb: DelegatedVerb, params: P, context: ServerCallContext): Promise<R> {
    return this.guard(() => {
      this.scope(context);
      const inner = this.parts.inner as unknown as Record<
        string,
        (params: P, context: ServerCallContext) => Promise<R>
      >;
      const answer = inner[verb]?.(params, context);
      if (answer === undefined) throw new TypeError(`the inner handler lacks ${verb}`);
      return answer;
    });
  }

  private incoming(request: Params<'sendMessage'>, context: ServerCallContext): Incoming {
    const caller = this.caller(context);
    const message = checkMessage(request, context, this.parts.rules);
    checkLimits(request, this.parts.options);
    return { request, message, context, ...caller, signal: currentConnection()?.signal };
  }

  private caller(context: ServerCallContext): Caller {
    return { scope: this.scope(context), authenticated: context.user?.isAuthenticated === true };
  }

  private scope(context: ServerCallContext): Scope {
    return checkScope(this.parts.scopeOf(context));
  }

  private checkStreaming(refusal: string): void {
    if (!this.parts.card.capabilities?.streaming) throw new UnsupportedOperationError(refusal);
  }

  private async guard<T>(answer: () => Promise<T>): Promise<T> {
    try {
      return await untilClosed(this.parts.turns.closed, answer);
    } catch (error) {
      throw toClientError(error, this.parts.logger);
    }
  }

  private async *guardStream(begin: () => NewStream): AsyncGenerator<StreamResponse, void, undefined> {
    let leave: (() => void) | undefined;
    try {
      const { caller, follow } = begin();
      // Before anything is opened: nothing is kept of a stream that is refused.
      leave = this.streams.take(caller);
      yield* follow();
    } catch (error) {
      throw toClientError(error, this.parts.logger);
    } finally {
      leave?.();
    }
  }
}

type DelegatedVerb = Exclude<
  keyof A2ARequestHandler,
  'sendMessage' | 'sendMessageStream' | 'cancelTask' | 'resubscribe'
>;
