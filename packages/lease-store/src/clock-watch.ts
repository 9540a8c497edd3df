import type { Clock, Logger, Telemetry } from '@a2a-cluster/core';
import type { LeaseStatements } from '@a2a-cluster/db';
import type { ResolvedLeaseOptions } from './options.js';

/** Why a quiet period began. */
export type QuietCause =
  /** The database's clock advanced by more or less than the local monotonic time. */
  | 'clock_step'
  /** Another server answers, or its timeline or recovery state is another one. */
  | 'other_server'
  /** There was no successful read for longer than a live turn survives. */
  | 'blackout';

/**
 * Watches the database's clock for one replica (protocol 2). While it is quiet nothing is claimed, neither by the
 * sweeper nor by a follow-up that would take an expired lease over: what expired may be expired only by a clock that
 * jumped, and its holder alive.
 */
export interface ClockWatch {
  /**
   * One reading, compared with the one before; the first only takes the baseline. To be called once per sweeper pass.
   * Readings never overlap: one asked for while another is under way begins after it, and those who wait share it.
   * Also cuts expiries that a clock stepping back left in the far future: once at the first reading, since whoever saw
   * the step may be gone, and once after each quiet period.
   *
   * @throws what the database throws, or `UNKNOWN_OUTCOME` when it does not answer in time; the failure is noted.
   */
  observe(): Promise<void>;
  /** Tells of a read that failed elsewhere in the pass: the silence since the last good one then counts. */
  noteReadFailure(): void;
  /** The longest pause between two readings in which no blackout that matters can begin and end unseen (S). */
  longestPauseMs(): number;
  /** Whether nothing may be claimed now. Follows the local monotonic clock, asks nobody. */
  quiet(): boolean;
  /**
   * Whether nothing may be claimed now, by a reading sent after the call: {@link ClockWatch.quiet} is only as fresh as
   * the last pass. For claims outside a pass. Also true when the clock cannot be read, and when there was no earlier
   * reading to compare with. Never rejects.
   */
  freshlyQuiet(): Promise<boolean>;
  /** Milliseconds until the quiet period ends; 0 when there is none. */
  quietRemainingMs(): number;
}

/** What a clock watch is made of. */
export interface ClockWatchOptions {
  readonly leases: Pick<LeaseStatements, 'readClock' | 'clampFuture'>;
  readonly options: ResolvedLeaseOptions;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Told of quiet periods. Default: nobody. */
  readonly telemetry?: Telemetry;
}
