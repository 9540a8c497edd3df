import type { Message, Task } from '@a2a-js/sdk';
import type { AgentExecutionEvent, AgentExecutor, RequestContext } from '@a2a-js/sdk/server';
import {
  ClusterError,
  decodeEvent,
  encodeEvent,
  errorText,
  isInterruptedName,
  withFields,
  type FailureReason,
  type Logger,
  type Timer,
} from '@a2a-cluster/core';
import type { LostCause } from '@a2a-cluster/lease-store';
import { Deferred } from './deferred.js';
import type { PreparedEvent } from './prepared-event.js';
import { TurnBus } from './turn-bus.js';
import type { TurnHandle } from './turn-context.js';
import { cancelGraceLeftMs } from './cancel-grace.js';
import { createTurnHandle } from './turn-handle.js';
import { TurnDocument } from './turn-document.js';
import { TurnLease } from './turn-lease.js';
import type { TurnOutcome, TurnParts, TurnSpec } from './turn-spec.js';
import { lossOf, TurnRecord } from './turn-record.js';
import { TurnTimers } from './turn-timers.js';
import { TurnWriter, type StoredBatch } from './turn-writer.js';

interface Cancelling {
  /** The agent's `cancelTask` has returned. */
  readonly agentTold: Promise<void>;
  readonly graceOver: Deferred<void>;
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
  private readonly abort = new AbortController();
  private readonly lost = new AbortController();
  private readonly record: TurnRecord;
  private readonly timers: TurnTimers;
  private readonly document: TurnDocument;
  private readonly bus = new TurnBus((event) => this.publish(event));
  private readonly lease: TurnLease;
  private readonly writer: TurnWriter;
  private executor: AgentExecutor | null = null;
  private logger: Logger;
  private storedVersion: number;
  private cancelling: Cancelling | null = null;
  /** Nothing the executor publishes is taken any more. */
  private sealed = false;
  /** An event that ends the task is queued or stored. */
  private ending = false;
  private answeredByMessage = false;
  private lettingGo: Promise<void> | null = null;
  /** Runs while the task waits for its client because of this turn. */
  private lingering: Timer | null = null;
  private executorReturned = false;
  private finished = false;

  constructor(
    private readonly parts: TurnParts,
    private readonly spec: TurnSpec,
  ) {
    const { taskId, opened } = spec;
    this.taskId = taskId;
    this.record = new TurnRecord(parts, spec);
    this.document = new TurnDocument(parts, spec);
    this.timers = new TurnTimers(parts.clock, (error) => this.broke(error));
    this.storedVersion = opened?.version ?? 0;
    this.logger = withFields(parts.logger, { taskId, replicaId: parts.holder });
    this.lease = new TurnLease({
      taskId,
      holder: parts.holder,
      heartbeat: parts.heartbeat,
      stream: parts.stream,
      lost: this.lost.signal,
      onLost: (cause, known) => this.lose(cause, known),
      onCancelRequested: (ageMs) => this.requestCancel(ageMs),
    });
    this.writer = this.createWriter();
    this.handle = createTurnHandle({
      lease: this.lease,
      writer: this.writer,
      signal: this.abort.signal,
      taskId,
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
  get epoch(): number | undefined {
    return this.lease.epoch;
  }

  /** The last stored document of this turn, if it is exactly of that version. */
  taskAt(version: number): Task | undefined {
    return this.writer.taskAt(version);
  }

  /**
   * Runs the executor; resolves when it has returned and its ending is on its way. A turn that was cancelled or lost
   * before is not started.
   */
  async run(executor: AgentExecutor, context: RequestContext): Promise<void> {
    let failure: { readonly error: unknown } | null = null;
    // Its timer has not had its turn yet.
    if (this.spec.opened !== null && !this.lease.isHeld()) this.lose('the lease ran out before the start');
    if (!this.abort.signal.aborted) {
      this.executor = executor;
      try {
        await this.record.start(() => executor.execute(context, this.bus));
      } catch (error) {
        failure = { error };
      }
    }
    this.executorReturned = true;
    await this.conclude(failure);
  }

  /** Ends a turn whose executor could not be started: FAILED where there is a task, else without a trace. */
  async fail(error: unknown): Promise<void> {
    this.executorReturned = true;
    if (!this.document.exists) return this.finish({ type: 'fault', error });
    await this.conclude({ error });
  }

  /** Somebody asked to cancel, `ageMs` ago by the database's clock. The first call counts. */
  requestCancel(ageMs: number): void {
    if (this.finished || this.cancelling !== null || this.ending) return;
    this.record.cancelRequested(ageMs, this.logger);
    const graceOver = new Deferred<void>();
    this.cancelling = { agentTold: this.tellAgent(this.bus), graceOver };
    this.stopExecutor('the task was cancelled');
    const { cancelGraceMs: graceMs } = this.parts.options;
    this.timers.after(cancelGraceLeftMs({ graceMs, cancelAgeMs: ageMs }), () => {
      this.writeCanceled();
      graceOver.resolve();
    });
  }

  /** Ends the turn because the replica closes (protocol 10). Resolves when it is over. */
  async shutdown(options: { readonly fail: boolean }): Promise<void> {
    const cause = 'the replica is closing';
    if (this.finished) return;
    if (this.isParked() || (this.answeredByMessage && this.isComplete())) return this.letGo(cause);
    this.stopExecutor(cause);
    this.muteAgent();
    if (!options.fail) return this.leave(cause);
    this.failWith('shutdown');
    await this.overs.promise;
  }

  /** The lease is another's, or may be: nothing is written any more, and never FAILED (protocol 5). `known`: it is. */
  lose(cause: string, known?: LostCause): void {
    if (this.finished) return;
    // Ends the turn by itself when the deadline has passed: then that is the cause, not how we came to hear of it.
    this.lease.judge();
    if (this.finished) return;
    if (known !== undefined && this.cancelling === null) this.lease.noteLost(known);
    this.logger.warn({ cause }, 'lost the turn');
    this.stopExecutor('the lease was lost');
    this.muteAgent();
    this.leave(cause);
  }

  /** A fault of ours: the turn must not hang on it. */
  broke(error: unknown): void {
    this.logger.error({ err: error }, 'a turn ended by a fault of ours');
    this.lose('a fault of ours');
  }

  /** Neither renews nor drops the lease: whoever finds it expired ends the turn. */
  private leave(cause: string): void {
    this.sealed = true;
    this.lost.abort();
    this.writer.stop();
    const unknown = new ClusterError('UNKNOWN_OUTCOME', cause);
    this.finish(this.writer.isCreated ? { type: 'lost' } : { type: 'fault', error: unknown });
  }

  /** What it throws would be thrown into the agent's own code, so it never does. */
  private publish(event: AgentExecutionEvent): void {
    const { kind } = (event ?? {}) as Partial<AgentExecutionEvent>;
    if (this.sealed)
      return this.logger.debug({ kind }, 'dropped an event published after the end of the turn');
    try {
      if (event.kind === 'message' && !this.document.published) this.answerByMessage(event.data);
      else this.take(event);
    } catch (error) {
      this.logger.error({ err: error, kind }, 'an event cannot be encoded');
      this.failWith('executor_error', `Agent execution error: ${errorText(error)}`);
    }
  }

  private answerByMessage(published: Message): void {
    // A copy, and proof that a transport can encode it.
    const copy = decodeEvent('message', encodeEvent({ kind: 'message', data: published }));
    this.document.answered();
    this.sealed = true;
    this.answeredByMessage = true;
    this.outcomes.resolve({ type: 'message', message: copy.data as Message });
  }

  private take(event: AgentExecutionEvent): void {
    const prepared = this.document.prepare(event);
    if (!('why' in prepared)) return this.takeIfRoom(prepared);
    const { kind } = event;
    if (prepared.why === 'no_effect') return this.logger.debug({ kind }, 'an event changes nothing');
    this.logger.error({ kind, cause: prepared.text }, 'an event cannot be part of this turn');
    const reason = prepared.why === 'too_large' ? 'executor_error' : 'wrong_order';
    this.failWith(reason, `Agent execution error: ${prepared.text}`);
  }

  private takeIfRoom(prepared: PreparedEvent): void {
    if (this.document.fold.count < this.parts.options.maxEventsPerTurn) return this.enqueue(prepared);
    this.failWith('too_many_events');
  }

  private enqueue(prepared: PreparedEvent): void {
    const firstOfTask = this.document.take(prepared);
    if (prepared.terminal) {
      this.ending = true;
      this.sealed = true;
    }
    if (firstOfTask) this.limitCreation();
    if (this.writer.add(prepared) || prepared.terminal) return;
    const { maxQueuedBytes } = this.parts.options;
    this.logger.error({ maxQueuedBytes }, 'the agent is too far ahead of the database');
    this.failWith('backlog');
  }

  /** A new task whose first write does not come back in the time its lease could be trusted is given up. */
  private limitCreation(): void {
    this.timers.after(this.parts.options.trustMs, () => {
      if (!this.writer.isCreated) this.lose('the first write did not come back in time');
    });
  }

  /** Ends the turn FAILED in the name of the cluster, after what was published before. */
  private failWith(reason: FailureReason, text?: string): void {
    if (this.finished || this.ending) return;
    this.logger.warn({ reason }, 'the turn ends FAILED');
    this.enqueue(this.document.failed(reason, text));
    if (!this.executorReturned) this.stopExecutor(text ?? reason);
  }

  private writeCanceled(): void {
    if (this.finished || this.ending) return;
    this.enqueue(this.document.canceled());
  }

  /** The executor has returned: what is left to do depends on where it left the task. */
  private async conclude(failure: { readonly error: unknown } | null): Promise<void> {
    if (this.cancelling) {
      const { agentTold, graceOver } = this.cancelling;
      await Promise.race([agentTold, graceOver.promise, this.overs.promise]);
    }
    await this.writer.drained();
    if (this.finished || this.ending) return;
    if (failure) this.record.executorFailed(failure.error, this.logger);
    if (this.cancelling) return this.writeCanceled();
    if (failure) return this.failWith('executor_error', `Agent execution error: ${errorText(failure.error)}`);
    if (this.isComplete()) return this.letGo(null);
    this.failWith('turn_incomplete');
  }

  /** Whether a turn may stop here without ending its task. */
  private isComplete(): boolean {
    const { exists, published, state } = this.document;
    if (!exists) return this.answeredByMessage;
    return this.parts.options.incompleteTurn === 'keep' || (published && isInterruptedName(state));
  }

  /** The task waits for its client, and this turn is what made it wait. */
  private isParked(): boolean {
    return this.document.heard && this.document.state === 'TASK_STATE_INPUT_REQUIRED';
  }

  /** Ends the turn and leaves the task as it is: the lease goes, no event is written but for a cancel not heard of. */
  private letGo(cause: string | null): Promise<void> {
    this.sealed = true;
    if (cause !== null) {
      this.stopExecutor(cause);
      this.muteAgent();
    }
    return (this.lettingGo ??= this.releaseLease());
  }

  private async releaseLease(): Promise<void> {
    await this.writer.drained();
    if (this.finished) return;
    if ((await this.lease.release(this.storedVersion)) === 'over') return this.finish({ type: 'ended' });
    // The mark came after the last beat. Nobody else may live to act on it, and the agent has no more to say.
    this.logger.info({}, 'a cancel was requested before the turn was let go');
    this.writeCanceled();
    await this.overs.promise;
  }

  private hold(opened: Parameters<TurnLease['hold']>[0]): void {
    const { taskId, parts } = this;
    this.logger = withFields(parts.logger, { taskId, replicaId: parts.holder, epoch: opened.epoch });
    if (!opened.ended) this.record.acquired(opened.epoch);
    this.lease.hold(opened);
  }

  private onStored(stored: StoredBatch): void {
    this.storedVersion = stored.version;
    if (stored.terminal) return this.finish({ type: 'ended' });
    if (this.document.heard && isInterruptedName(stored.state)) this.limitLingering();
    else this.endLingering();
  }

  private limitLingering(): void {
    const limitMs = this.parts.options.interruptedTurnTimeoutMs;
    if (limitMs === null) return;
    this.lingering ??= this.timers.after(limitMs, () => {
      this.lingering = null;
      if (isInterruptedName(this.document.state) && !this.ending)
        void this.letGo('it lingered on a parked task');
    });
  }

  private endLingering(): void {
    this.lingering?.cancel();
    this.lingering = null;
  }

  private tellAgent(bus: TurnBus): Promise<void> {
    const { executor, taskId } = this;
    if (executor === null) return Promise.resolve();
    const told = this.record.within(async () => executor.cancelTask(taskId, bus));
    return told.catch((error: unknown) => this.logger.warn({ err: error }, "the agent's cancelTask failed"));
  }

  /** Tells an agent that ignores its signal, too; what it says then goes nowhere. */
  private muteAgent(): void {
    if (!this.executorReturned) void this.tellAgent(new TurnBus(null));
  }

  private stopExecutor(cause: string): void {
    this.abort.abort(new DOMException(`The turn must stop: ${cause}`, 'AbortError'));
  }

  private finish(outcome: TurnOutcome): void {
    if (this.finished) return;
    this.finished = true;
    this.sealed = true;
    this.timers.clear();
    this.lease.end();
    this.record.ended({ outcome, answeredByMessage: this.answeredByMessage, state: this.document.state });
    this.outcomes.resolve(outcome);
    this.spec.onOver(this.taskId);
    this.overs.resolve();
  }

  private createWriter(): TurnWriter {
    const { parts, spec, lost, lease } = this;
    return new TurnWriter({
      journal: this.record.journal(parts.journal),
      taskId: spec.taskId,
      contextId: spec.contextId,
      scope: spec.scope,
      holder: parts.holder,
      ttlMs: parts.ttlMs,
      maxEventBytes: parts.options.maxEventBytes,
      maxQueuedBytes: parts.options.maxQueuedBytes,
      opened: spec.opened,
      fold: this.document.fold,
      lost: lost.signal,
      authority: () => lease.authority(),
      events: {
        onCreated: (created, ended) => this.hold({ epoch: 1, sentAtMs: created.sentAtMs, ended }),
        onEnding: (active) => lease.setDropping(active),
        onStored: (stored) => this.onStored(stored),
        onRefused: (refusal) => this.lose(`a write was refused: ${refusal}`, lossOf(refusal)),
        onFault: (error) => {
          this.logger.error({ err: error }, 'the database refuses the events of this turn');
          this.lose('the database refuses its events');
        },
      },
    });
  }
}
