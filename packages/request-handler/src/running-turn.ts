import type { Message, Task } from '@a2a-js/sdk';
import type { AgentExecutionEvent, AgentExecutor, RequestContext } from '@a2a-js/sdk/server';
import {
  ClusterError,
  errorText,
  isInterrupted,
  isTerminalName,
  stateName,
  withFields,
  type Clock,
  type FailureReason,
  type Logger,
  type Scope,
  type Timer,
} from '@a2a-cluster/core';
import type { LogHead } from '@a2a-cluster/db';
import type { EventStream } from '@a2a-cluster/event-stream';
import type { HeldLease, Heartbeat } from '@a2a-cluster/lease-store';
import type { Journal } from '@a2a-cluster/task-store';
import { Deferred } from './deferred.js';
import type { ResolvedHandlerOptions } from './options.js';
import { prepareEvent, type PreparedEvent } from './prepared-event.js';
import { TurnBus } from './turn-bus.js';
import type { TurnHandle } from './turn-context.js';
import { canceledEvent, failedEvent } from './turn-endings.js';
import { TurnWriter } from './turn-writer.js';

/** What the caller of a turn learns beside the log. */
export type TurnOutcome =
  /** The agent answered with a message; nothing of it is in the log. */
  | { readonly type: 'message'; readonly message: Message }
  /** The turn is over and all of it is in the log. */
  | { readonly type: 'ended' }
  /** This replica no longer runs the turn; the log goes on without it. */
  | { readonly type: 'lost' }
  /** The task was never known to be stored. */
  | { readonly type: 'fault'; readonly error: unknown };

/** What every turn of a replica shares. */
export interface TurnParts {
  readonly journal: Journal;
  readonly stream: EventStream;
  readonly heartbeat: Heartbeat;
  readonly clock: Clock;
  readonly logger: Logger;
  /** `<REPLICA_ID>-<boot>`. */
  readonly holder: string;
  readonly ttlMs: number;
  readonly options: ResolvedHandlerOptions;
  newId(): string;
}

/** One turn. */
export interface TurnSpec {
  readonly taskId: string;
  readonly contextId: string;
  readonly scope: Scope;
  readonly userMessage: Message;
  /** Null: a new task. */
  readonly opened: { readonly epoch: number; readonly sentAtMs: number; readonly version: number; readonly task: Task } | null;
  /** Called once, when nothing more will be written. */
  onOver(turn: RunningTurn): void;
}

/**
 * One `execute()` call and the lease it runs under (protocol 4). It ends in one of these ways: the agent ends or
 * parks the task; the agent fails or stops short and the turn is ended FAILED; a cancel; the replica closes; or the
 * lease is lost, after which nothing of it is written any more.
 */
export class RunningTurn {
  readonly taskId: string;
  readonly handle: TurnHandle;
  private readonly outcomes = new Deferred<TurnOutcome>();
  private readonly overs = new Deferred<void>();
  private readonly helds = new Deferred<number>();
  private readonly abort = new AbortController();
  private readonly lost = new AbortController();
  private readonly bus: TurnBus;
  private readonly writer: TurnWriter;
  private logger: Logger;
  private task: Task | undefined;
  private version: number;
  private epoch: number | undefined;
  private lease: HeldLease | null = null;
  private unwatch: (() => void) | null = null;
  private readonly timers = new Set<Timer>();
  /** Nothing the executor publishes is taken any more. */
  private sealed = false;
  /** An event that ends the task is queued or stored. */
  private ending = false;
  private published = false;
  private heard = false;
  private answeredByMessage = false;
  private finished = false;
  private executorReturned = false;
  private cancelling: { readonly agentTold: Promise<void>; readonly graceOver: Deferred<void> } | null = null;
  /** A write that takes the lease row away is in flight: a head without it is no news. */
  private droppingLease = false;
  private executor: AgentExecutor | null = null;

  constructor(
    private readonly parts: TurnParts,
    private readonly spec: TurnSpec,
  ) {
    const { taskId, contextId, scope, opened } = spec;
    this.taskId = taskId;
    this.task = opened?.task;
    this.version = opened?.version ?? 0;
    this.logger = withFields(parts.logger, { taskId, replicaId: parts.holder });
    this.helds.promise.catch(() => {});
    this.bus = new TurnBus((event) => this.publish(event));
    this.handle = this.createHandle();
    this.writer = new TurnWriter({
      journal: parts.journal,
      taskId,
      contextId,
      scope,
      holder: parts.holder,
      ttlMs: parts.ttlMs,
      maxEventBytes: parts.options.maxEventBytes,
      maxQueuedBytes: parts.options.maxQueuedBytes,
      opened: opened && { version: opened.version, task: opened.task },
      lost: this.lost.signal,
      authority: () => this.authority(),
      events: {
        onCreated: (created, ended) => this.hold({ epoch: 1, sentAtMs: created.sentAtMs, ended }),
        onEnding: (active) => this.setDropping(active),
        onStored: (stored) => this.onStored(stored),
        onRefused: (refusal) => this.lose(`a write was refused: ${refusal}`),
        onFault: (error) => this.onFault(error),
      },
    });
    if (opened !== null) this.hold({ epoch: opened.epoch, sentAtMs: opened.sentAtMs, ended: false });
  }

  /** What the caller learns beside the log; never rejects. */
  get outcome(): Promise<TurnOutcome> {
    return this.outcomes.promise;
  }

  /** Resolves when nothing more will be written; the executor may still be running. */
  get over(): Promise<void> {
    return this.overs.promise;
  }

  /** The epoch, once there is one. */
  get currentEpoch(): number | undefined {
    return this.epoch;
  }

  /** The last stored document of this turn, if it is exactly of that version. */
  taskAt(version: number): Task | undefined {
    return this.storedTask?.version === version ? this.storedTask.task : undefined;
  }
  private storedTask: { readonly version: number; readonly task: Task } | null = null;

  /** Runs the executor; resolves when it has returned, however the turn went. Never rejects. */
  async run(executor: AgentExecutor, context: RequestContext): Promise<void> {
    this.executor = executor;
    let failure: { readonly error: unknown } | null = null;
    try {
      await executor.execute(context, this.bus);
    } catch (error) {
      failure = { error };
    }
    this.executorReturned = true;
    await this.conclude(failure);
  }

  /** Ends a turn whose executor could not even be started. */
  fail(error: unknown): Promise<void> {
    this.executorReturned = true;
    return this.conclude({ error });
  }

  /** Somebody asked to cancel, `ageMs` ago by the database's clock. The first call counts. */
  requestCancel(ageMs: number): void {
    if (this.finished || this.cancelling !== null || this.ending) return;
    this.logger.info({ ageMs }, 'cancel requested');
    const graceOver = new Deferred<void>();
    this.cancelling = { agentTold: this.tellAgent(this.bus), graceOver };
    this.stopExecutor('the task was cancelled');
    this.after(Math.max(0, this.parts.options.cancelGraceMs - ageMs), () => {
      this.writeCanceled();
      graceOver.resolve();
    });
  }

  /** Ends the turn because the replica closes (protocol 10). Resolves when it is over. */
  async shutdown(options: { readonly fail: boolean }): Promise<void> {
    if (this.finished) return;
    if (this.isParked()) return this.letGo('the replica is closing');
    this.stopExecutor('the replica is closing');
    if (!options.fail) {
      if (!this.executorReturned) void this.tellAgent(new TurnBus(null));
      this.leave('the replica is closing');
      return;
    }
    this.failWith('shutdown');
    if (!this.executorReturned) void this.tellAgent(new TurnBus(null));
    await this.overs.promise;
  }

  /** The lease is another's, or may be: nothing is written any more, and never FAILED (protocol 5). */
  lose(cause: string): void {
    if (this.finished) return;
    this.logger.warn({ cause }, 'lost the turn');
    this.stopExecutor('the lease was lost');
    if (!this.executorReturned) void this.tellAgent(new TurnBus(null));
    this.leave(cause);
  }

  /** Neither renews nor drops the lease: whoever finds it expired ends the turn. */
  private leave(cause: string): void {
    this.sealed = true;
    this.lost.abort();
    this.writer.stop();
    this.lease?.end();
    const unknown = new ClusterError('UNKNOWN_OUTCOME', cause);
    this.finish(this.writer.isCreated ? { type: 'lost' } : { type: 'fault', error: unknown });
  }

  private publish(event: AgentExecutionEvent): void {
    if (this.sealed) {
      this.logger.debug({ kind: event.kind }, 'dropped an event published after the end of the turn');
      return;
    }
    if (event.kind === 'message' && !this.published) return this.answerByMessage(event.data);
    this.take(event);
  }

  private answerByMessage(message: Message): void {
    this.published = true;
    this.sealed = true;
    this.answeredByMessage = true;
    this.outcomes.resolve({ type: 'message', message: structuredClone(message) });
  }

  private take(event: AgentExecutionEvent): void {
    try {
      const prepared = prepareEvent(event, this.prepareContext(!this.published));
      if (!('why' in prepared)) return this.enqueue(prepared);
      if (prepared.why === 'no_effect') return this.logger.debug({ kind: event.kind }, 'an event that changes nothing');
      this.logger.error({ kind: event.kind, cause: prepared.text }, 'an event that cannot be part of this turn');
      const reason = prepared.why === 'too_large' ? 'executor_error' : 'wrong_order';
      this.failWith(reason, `Agent execution error: ${prepared.text}`);
    } catch (error) {
      this.logger.error({ err: error, kind: event.kind }, 'an event that cannot be encoded');
      this.failWith('executor_error', `Agent execution error: ${errorText(error)}`);
    }
  }

  private enqueue(prepared: PreparedEvent): void {
    this.published = true;
    this.heard ||= prepared.setsStatus;
    this.task = prepared.taskAfter;
    if (prepared.terminal) {
      this.ending = true;
      this.sealed = true;
    }
    this.limitCreation();
    if (this.writer.add(prepared) || prepared.terminal) return;
    this.logger.error({ maxQueuedBytes: this.parts.options.maxQueuedBytes }, 'the agent is too far ahead of the database');
    this.failWith('backlog');
  }

  /** A new task whose first write does not come back in the time its lease could be trusted is given up. */
  private limitCreation(): void {
    if (this.writer.isCreated || this.timers.size > 0) return;
    this.after(this.parts.options.trustMs, () => {
      if (!this.writer.isCreated) this.lose('the first write did not come back in time');
    });
  }

  /** Ends the turn FAILED in the name of the cluster, after what was published before. */
  private failWith(reason: FailureReason, text?: string): void {
    if (this.finished || this.ending) return;
    this.endWith(failedEvent(this.endingContext(), reason, text));
    if (!this.executorReturned) this.stopExecutor(text ?? reason);
    this.logger.warn({ reason }, 'the turn ends FAILED');
  }

  private writeCanceled(): void {
    if (this.finished || this.ending) return;
    if (this.task === undefined) return this.lose('cancelled before the task was stored');
    this.endWith(canceledEvent(this.endingContext()));
  }

  private endWith(event: AgentExecutionEvent): void {
    const prepared = prepareEvent(event, { ...this.prepareContext(false), maxEventBytes: Number.POSITIVE_INFINITY });
    if ('why' in prepared) throw new ClusterError('BUG', `an ending of ours does not fit: ${prepared.why}`);
    this.enqueue(prepared);
  }

  /** The executor has returned: what is left to do depends on where it left the task. */
  private async conclude(failure: { readonly error: unknown } | null): Promise<void> {
    if (this.cancelling) {
      await Promise.race([this.cancelling.agentTold, this.cancelling.graceOver.promise, this.overs.promise]);
    }
    await this.writer.drained();
    if (this.finished || this.ending) return;
    if (failure) this.logger.warn({ err: failure.error }, 'the executor failed');
    if (this.cancelling) return this.writeCanceled();
    if (failure) return this.failWith('executor_error', `Agent execution error: ${errorText(failure.error)}`);
    if (this.isComplete()) return this.letGo(null);
    this.failWith('turn_incomplete');
  }

  private isComplete(): boolean {
    if (this.answeredByMessage && (this.task === undefined || isInterrupted(this.task.status?.state))) return true;
    if (!this.published) return this.parts.options.incompleteTurn === 'keep' && this.task !== undefined;
    return isInterrupted(this.task?.status?.state) || (this.parts.options.incompleteTurn === 'keep' && this.task !== undefined);
  }

  /** The task waits for its client, and this turn is what made it wait. */
  private isParked(): boolean {
    return this.heard && this.task !== undefined && stateName(this.task.status?.state) === 'TASK_STATE_INPUT_REQUIRED';
  }

  /** Ends the turn and leaves the task as it is: the lease goes, no event is written. */
  private async letGo(cause: string | null): Promise<void> {
    this.sealed = true;
    if (cause !== null && !this.executorReturned) {
      this.stopExecutor(cause);
      void this.tellAgent(new TurnBus(null));
    }
    await this.writer.drained();
    if (this.finished) return;
    this.droppingLease = true;
    await this.lease?.release();
    if (this.lease && this.epoch !== undefined) {
      this.parts.stream.released({ taskId: this.taskId, epoch: this.epoch, version: this.version });
    }
    this.finish({ type: 'ended' });
  }

  private hold(opened: { readonly epoch: number; readonly sentAtMs: number; readonly ended: boolean }): void {
    const { epoch, sentAtMs, ended } = opened;
    this.epoch = epoch;
    this.logger = withFields(this.parts.logger, { taskId: this.taskId, replicaId: this.parts.holder, epoch });
    if (ended || this.finished) return;
    this.lease = this.parts.heartbeat.hold({
      lease: { taskId: this.taskId, epoch },
      sentAtMs,
      onLost: (cause) => this.lose(`the lease: ${cause}`),
      onCancelRequested: (ageMs) => this.requestCancel(ageMs),
    });
    if (this.droppingLease) this.lease.ending(true);
    this.unwatch = this.parts.stream.watchHead({ taskId: this.taskId, onHead: (head) => this.onHead(head) });
    this.helds.resolve(epoch);
  }

  /** What the dispatcher's query says of this turn's lease: a cancel mark, or that it is gone. */
  private onHead(head: LogHead | null): void {
    if (this.finished || this.droppingLease || this.epoch === undefined) return;
    if (head === null) return this.lose('the task is gone');
    if (head.version < this.epoch) return;
    if (isTerminalName(head.state)) return this.lose('the task has ended');
    const ours = head.lease?.epoch === this.epoch && head.lease.holder === this.parts.holder;
    if (!ours) return this.lose('the lease is gone');
    if (head.lease?.cancelAgeMs != null) this.requestCancel(head.lease.cancelAgeMs);
  }

  private setDropping(active: boolean): void {
    this.droppingLease = active;
    this.lease?.ending(active);
  }

  private onStored(stored: { readonly version: number; readonly task: Task; readonly terminal: boolean }): void {
    this.version = stored.version;
    this.storedTask = { version: stored.version, task: stored.task };
    if (stored.terminal) {
      this.lease?.end();
      return this.finish({ type: 'ended' });
    }
    const limitMs = this.parts.options.interruptedTurnTimeoutMs;
    if (limitMs === null || !isInterrupted(stored.task.status?.state)) return;
    this.after(limitMs, () => {
      if (isInterrupted(this.task?.status?.state) && !this.ending) void this.letGo('it lingered after it parked the task');
    });
  }

  private onFault(error: unknown): void {
    this.logger.error({ err: error }, 'the database refuses the events of this turn');
    if (!this.writer.isCreated) this.outcomes.resolve({ type: 'fault', error });
    this.lose('the database refuses its events');
  }

  private tellAgent(bus: TurnBus): Promise<void> {
    const { executor, taskId } = this;
    if (executor === null) return Promise.resolve();
    return (async () => executor.cancelTask(taskId, bus))().catch((error: unknown) => {
      this.logger.warn({ err: error }, "the agent's cancelTask failed");
    });
  }

  private stopExecutor(cause: string): void {
    this.abort.abort(new DOMException(`The turn must stop: ${cause}`, 'AbortError'));
  }

  private finish(outcome: TurnOutcome): void {
    if (this.finished) return;
    this.finished = true;
    this.sealed = true;
    for (const timer of this.timers) timer.cancel();
    this.unwatch?.();
    this.helds.reject(new ClusterError('LEASE_LOST', 'the turn has ended'));
    this.outcomes.resolve(outcome);
    this.spec.onOver(this);
    this.overs.resolve();
  }

  private after(delayMs: number, action: () => void): void {
    const timer = this.parts.clock.setTimer(delayMs, () => {
      this.timers.delete(timer);
      action();
    });
    this.timers.add(timer);
  }

  private authority(): ReturnType<TurnWriterAuthority> {
    const { lease, epoch } = this;
    if (lease === null || epoch === undefined) throw new ClusterError('BUG', 'a turn writes without a lease');
    return {
      taskId: this.taskId,
      epoch,
      holder: this.parts.holder,
      lost: this.lost.signal,
      renewNow: () => lease.renewNow(),
    };
  }

  private prepareContext(first: boolean): Parameters<typeof prepareEvent>[1] {
    const { taskId, contextId, userMessage } = this.spec;
    const { options, newId } = this.parts;
    return { taskId, contextId, userMessage, task: this.task, first, maxEventBytes: options.maxEventBytes, newId };
  }

  private endingContext(): Parameters<typeof failedEvent>[0] {
    const { taskId, contextId, userMessage } = this.spec;
    const { clock, newId } = this.parts;
    return { taskId, contextId, userMessage, task: this.task, timestamp: clock.wallIso(), messageId: newId() };
  }

  private createHandle(): TurnHandle {
    // eslint-disable-next-line @typescript-eslint/no-this-alias -- getters of the handle read the live turn
    const turn = this;
    return {
      signal: this.abort.signal,
      held: this.helds.promise,
      attempt: 1,
      get epoch() {
        return turn.epoch;
      },
      get remainingMs() {
        return turn.lease?.remainingMs() ?? 0;
      },
      assertHeld() {
        if (turn.lease?.isHeld()) return;
        throw new ClusterError('LEASE_LOST', `this replica may not act for task ${turn.taskId}`);
      },
      drained: () => turn.writer.drained(),
    };
  }
}

type TurnWriterAuthority = ConstructorParameters<typeof TurnWriter>[0]['authority'];
