import type { Message, Task } from '@a2a-js/sdk';
import type { Clock, Logger, Scope, Telemetry, TraceContext } from '@a2a-cluster/core';
import type { EventStream } from '@a2a-cluster/event-stream';
import type { Heartbeat } from '@a2a-cluster/lease-store';
import type { Journal } from '@a2a-cluster/task-store';
import type { ResolvedHandlerOptions } from './options.js';

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
  /** Told of turns: refused, begun, ended. Default: nobody. */
  readonly telemetry?: Telemetry;
}

/** A turn that a follow-up has opened. */
export interface OpenedTurn {
  readonly epoch: number;
  /** Monotonic time before the opening statement was sent. */
  readonly sentAtMs: number;
  readonly version: number;
  /** The task with the follow-up's message in its history. */
  readonly task: Task;
}

/** One turn. */
export interface TurnSpec {
  readonly taskId: string;
  readonly contextId: string;
  readonly scope: Scope;
  /** Stamped with the task's and the context's id. */
  readonly userMessage: Message;
  /** Null: a new task. */
  readonly opened: OpenedTurn | null;
  /** The trace of the request that opened it; undefined: none, or tracing is off. */
  readonly trace?: TraceContext | undefined;
  /** Called once, when nothing more will be written. */
  onOver(taskId: string): void;
}
