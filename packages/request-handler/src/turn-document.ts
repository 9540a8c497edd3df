import type { AgentExecutionEvent } from '@a2a-js/sdk/server';
import { ClusterError, stateName, type FailureReason, type StateName } from '@a2a-cluster/core';
import { TaskFold } from './task-fold.js';
import { prepareEvent, type PreparedEvent, type Unfit } from './prepared-event.js';
import { canceledEvent, failedEvent } from './turn-endings.js';
import type { TurnParts, TurnSpec } from './turn-spec.js';

/** The task as the turn's events leave it, stored or not, and what the executor has said so far. */
export class TurnDocument {
  /** Of all events taken, stored or not. */
  readonly fold: TaskFold;
  private isThere: boolean;
  private stateNow: StateName;
  private spoke = false;
  private saidStatus = false;

  constructor(
    private readonly parts: Pick<TurnParts, 'clock' | 'options' | 'newId'>,
    private readonly spec: Pick<TurnSpec, 'taskId' | 'contextId' | 'userMessage' | 'opened'>,
  ) {
    const task = spec.opened?.task;
    this.fold = new TaskFold(task);
    this.isThere = task !== undefined;
    this.stateNow = stateName(task?.status?.state);
  }

  /** False: a new task that nothing was said of. */
  get exists(): boolean {
    return this.isThere;
  }

  get state(): StateName {
    return this.stateNow;
  }

  /** Whether the turn has published anything, a message included. */
  get published(): boolean {
    return this.spoke;
  }

  /** Whether the turn has set the task's status. */
  get heard(): boolean {
    return this.saidStatus;
  }

  /** The executor has answered with a message. */
  answered(): void {
    this.spoke = true;
  }

  /** What becomes of an event of the executor; nothing is taken yet. @throws when it cannot be cloned or encoded. */
  prepare(event: AgentExecutionEvent): PreparedEvent | Unfit {
    return prepareEvent(event, this.context({ first: !this.spoke }));
  }

  /** The FAILED that ends this turn in the name of the cluster. */
  failed(reason: FailureReason, text?: string): PreparedEvent {
    return this.ending(failedEvent(this.endingContext(), reason, text));
  }

  /** The CANCELED of an agent that did not write it itself. */
  canceled(): PreparedEvent {
    return this.ending(canceledEvent(this.endingContext()));
  }

  /** Goes on from after this event; true when it is the first of a new task. */
  take(prepared: PreparedEvent): boolean {
    const isFirst = !this.isThere;
    this.isThere = true;
    this.spoke = true;
    this.saidStatus ||= prepared.setsStatus;
    this.stateNow = prepared.stateAfter;
    this.fold.add(prepared.newEvent);
    return isFirst;
  }

  private ending(event: AgentExecutionEvent): PreparedEvent {
    const context = this.context({ first: false });
    const prepared = prepareEvent(event, { ...context, maxEventBytes: Number.POSITIVE_INFINITY });
    if ('why' in prepared) throw new ClusterError('BUG', `an ending of ours does not fit: ${prepared.why}`);
    return prepared;
  }

  private context({ first }: { readonly first: boolean }): Parameters<typeof prepareEvent>[1] {
    const { taskId, contextId, userMessage } = this.spec;
    const { options, newId } = this.parts;
    const { maxEventBytes } = options;
    const { exists, state, fold } = this;
    const task = (): ReturnType<TaskFold['at']> => fold.at(fold.count);
    return { taskId, contextId, userMessage, exists, state, task, first, maxEventBytes, newId };
  }

  private endingContext(): Parameters<typeof failedEvent>[0] {
    const { taskId, contextId, userMessage } = this.spec;
    const { clock, newId } = this.parts;
    const timestamp = clock.wallIso();
    return { taskId, contextId, userMessage, exists: this.exists, timestamp, messageId: newId() };
  }
}
