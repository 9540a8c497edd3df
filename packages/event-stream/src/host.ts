import type { Clock, Telemetry } from '@a2a-cluster/core';
import type { LogStatements } from '@a2a-cluster/db';
import type { Settings } from './options.js';
import type { FaultLog } from './rate-limited-log.js';

/** What feeds and tails need of the dispatcher that serves them. */
export interface Host {
  readonly clock: Clock;
  readonly log: Pick<LogStatements, 'readEvents'>;
  readonly settings: Settings;
  readonly faults: FaultLog;
  readonly telemetry: Telemetry;
  /** The number of the latest read of heads that was started: what is learnt now is older than any later read. */
  readNumber(): number;
  /** When the dispatcher last had every answer it asked for, by the clock; null: not yet. */
  lastReadMs(): number | null;
  /** Asks for the rows after the feed's window, with the next shared read. */
  requestFill(taskId: string): void;
  /** Asks for the task's head, with the next shared read. */
  requestHead(taskId: string): void;
}
