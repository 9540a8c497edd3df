import type { Clock, Logger, Service, Telemetry } from '@a2a-cluster/core';
import type { Database } from '@a2a-cluster/db';
import type { TaskReader } from '@a2a-cluster/task-store';
import type { ResolvedRetentionOptions } from './options.js';

/** What one pass did. */
export interface RetentionResult {
  /** Tasks whose events went, at least in part. */
  readonly compacted: number;
  /** Events that were deleted, of tasks that stay and of tasks that went. */
  readonly events: number;
  /** Tasks that were deleted. */
  readonly tasks: number;
  /** Tasks that were due and could not be done; they are tried again by later passes. */
  readonly failed: number;
}

/**
 * Takes the events of ended tasks, and in the end the tasks, when their time is over (protocol 11). Any replica may run
 * it, and several at once do no harm: each row is taken by one of them.
 *
 * How long ago a task ended is decided by the database's clock. The local clock only says when to look.
 */
export interface Retention extends Service {
  /**
   * One pass over all tasks now, whatever `mayRun` says, after the one under way if there is one.
   * @throws what the database throws when it cannot be asked; `ClusterError` `CLOSED` after `close`.
   */
  runOnce(): Promise<RetentionResult>;
}

/** What a retention is made of. */
export interface RetentionParts {
  readonly database: Pick<Database, 'retention' | 'log'>;
  readonly reader: Pick<TaskReader, 'fold'>;
  readonly options: ResolvedRetentionOptions;
  /** Asked before every pass of the service: work that one replica is enough for. Default: always. */
  readonly mayRun?: (() => boolean) | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Counts `pruned_total`. Default: nobody. */
  readonly telemetry?: Telemetry | undefined;
  /** From 0 to 1, for the jitter. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
}
