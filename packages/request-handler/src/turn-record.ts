import {
  openSpan,
  SILENT_TELEMETRY,
  type Logger,
  type OpenSpan,
  type StateName,
  type Telemetry,
  type TraceContext,
} from '@a2a-cluster/core';
import type { LostCause } from '@a2a-cluster/lease-store';
import type { CommitResult, CreateResult, Journal } from '@a2a-cluster/task-store';
import type { TurnOutcome, TurnParts, TurnSpec } from './turn-spec.js';

/** Where a turn stands when nothing more of it will be written. */
export interface TurnEnd {
  readonly outcome: TurnOutcome;
  readonly answeredByMessage: boolean;
  /** The state its task was left in. */
  readonly state: StateName;
}

const END_OF: Readonly<Record<string, string>> = {
  TASK_STATE_COMPLETED: 'completed',
  TASK_STATE_FAILED: 'failed',
  TASK_STATE_CANCELED: 'canceled',
  TASK_STATE_REJECTED: 'rejected',
  TASK_STATE_INPUT_REQUIRED: 'input_required',
  TASK_STATE_AUTH_REQUIRED: 'auth_required',
};

/** What the metrics and the trace learn of one turn. */
export class TurnRecord {
  private readonly telemetry: Telemetry;
  private readonly span: OpenSpan;
  private started = false;
  private cancelled = false;

  constructor(
    parts: Pick<TurnParts, 'telemetry' | 'holder'>,
    private readonly spec: Pick<TurnSpec, 'taskId' | 'contextId' | 'opened' | 'trace'>,
  ) {
    this.telemetry = parts.telemetry ?? SILENT_TELEMETRY;
    // A child of the request, which it outlives: an asynchronous child is the same trace to whoever reads it.
    this.span = openSpan('a2a.turn', { ...parentOf(spec.trace), isTurn: true });
    this.span.note(() => ({
      'a2a.task_id': spec.taskId,
      'a2a.context_id': spec.contextId,
      'a2a.replica_id': parts.holder,
    }));
  }

  /** The turn has its lease. */
  acquired(epoch: number): void {
    this.telemetry.count('leases_acquired_total', {
      by: this.spec.opened === null ? 'new_task' : 'follow_up',
    });
    this.span.note(() => ({ 'a2a.epoch': epoch }));
  }

  /** Starts the executor, in whose code the turn is the active span. Gives what that gives. */
  start<T>(execute: () => T): T {
    this.started = true;
    this.telemetry.count('turns_started_total');
    return this.span.run(execute);
  }

  /** Runs something for the turn that the agent did not call for. */
  within<T>(action: () => T): T {
    return this.span.run(action);
  }

  /** Somebody wants the turn cancelled: whoever writes the CANCELED then, the turn has not lost it to anybody. */
  cancelRequested(ageMs: number, logger: Logger): void {
    logger.info({ ageMs }, 'cancel requested');
    this.cancelled = true;
  }

  /** The executor, or what was to start it, failed. */
  executorFailed(error: unknown, logger: Logger): void {
    logger.warn({ err: error }, 'the executor failed');
    this.span.failed(error);
  }

  /** Nothing more of it will be written. A turn whose executor never began is in no count of ends. */
  ended(end: TurnEnd): void {
    const isLost = end.outcome.type === 'lost' || end.outcome.type === 'fault';
    const how = isLost ? (this.cancelled ? 'canceled' : 'lost') : endOf(end);
    if (this.started) this.telemetry.count('turns_ended_total', { end: how });
    this.span.note(() => ({ 'a2a.turn.end': how }));
    if (end.outcome.type === 'fault') this.span.failed(end.outcome.error);
    this.span.end();
  }

  /** The journal, writing in the turn's span whoever's code published what is written. */
  journal(journal: Pick<Journal, 'create' | 'commit'>): Pick<Journal, 'create' | 'commit'> {
    if (!this.span.isRecording) return journal;
    return {
      create: (request): Promise<CreateResult> => this.span.run(() => journal.create(request)),
      commit: (request): Promise<CommitResult> => this.span.run(() => journal.commit(request)),
    };
  }
}

/** What a refused write says of the lease: a turn that was ended or whose lease was let go leaves no row. */
export function lossOf(refusal: string): LostCause {
  return refusal === 'conflict' ? 'taken' : 'gone';
}

function endOf({ answeredByMessage, state }: TurnEnd): string {
  return answeredByMessage ? 'message' : (END_OF[state] ?? 'incomplete');
}

function parentOf(trace: TraceContext | undefined): { readonly parent?: TraceContext } {
  return trace === undefined ? {} : { parent: trace };
}
