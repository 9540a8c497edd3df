import type { Clock, Logger, Service, Telemetry } from '@a2a-cluster/core';
import type {
  EndedLeaseless,
  LeaselessBatch,
  LeaseStatements,
  SweepBatch,
  SweepOutcome,
} from '@a2a-cluster/db';
import type { ClockWatch } from '@a2a-cluster/lease-store';

/** The part of the journal that ends turns. What follows a commit (streams, hints, push) is its business. */
export interface SweepJournal {
  sweep(batch: SweepBatch): Promise<SweepOutcome>;
  sweepOrphans(limit: number): Promise<readonly string[]>;
  sweepLeaseless(batch: LeaselessBatch): Promise<readonly EndedLeaseless[]>;
}

/** What one pass did. */
export interface SweepResult {
  /** Turns ended FAILED by this pass. */
  readonly failed: number;
  /** Leases dropped because their turn had ended. */
  readonly dropped: number;
  /** Leases dropped because there is no such task. */
  readonly orphans: number;
  /** Tasks ended FAILED that were left running without a lease; see `orphanAfterMs`. */
  readonly leaseless: number;
  /** Expired leases that somebody else had locked; they are tried again soon. */
  readonly skipped: number;
  /** Nothing was claimed, because the database's clock or server had changed (protocol 2). */
  readonly quiet: boolean;
}

/**
 * Ends the turns of replicas that died (protocol 6). Every replica runs one and there is no leader: that each
 * abandoned turn gets exactly one FAILED event is the statement's promise, however many sweepers there are.
 *
 * Which lease has expired is decided by the database's clock. The local clock only says when to look.
 */
export interface AbandonedTaskSweeper extends Service {
  /**
   * One pass now, after the one under way if there is one.
   * @throws what the database throws when it cannot be asked; `ClusterError` `CLOSED` after `close`.
   */
  runOnce(): Promise<SweepResult>;
}

/**
 * What a sweeper is made of.
 * `ClusterError` `CONFIG_INVALID` is thrown for an `orphanAfterMs` that live turns could fall under.
 */
export interface AbandonedTaskSweeperOptions {
  readonly journal: SweepJournal;
  readonly leases: Pick<LeaseStatements, 'nextExpiry' | 'listLeases'>;
  readonly clockWatch: ClockWatch;
  /** The replica's id: it stands in the `holder` column of the FAILED events. */
  readonly sweeperId: string;
  readonly options: {
    /** The longest wait between two passes, before a jitter of 20 %. */
    readonly sweepIntervalMs: number;
    readonly ttlMs: number;
    /**
     * Leases per transaction. Default {@link DEFAULT_SWEEP_BATCH}; {@link EMBEDDED_SWEEP_BATCH} where the database
     * runs in this process.
     */
    readonly batchSize?: number | undefined;
    /**
     * The rest after a full batch, as a share of the time that the batch took. Default {@link DEFAULT_SWEEP_REST};
     * {@link EMBEDDED_SWEEP_REST} where the database runs in this process.
     */
    readonly restShare?: number | undefined;
    /**
     * Ends tasks that are SUBMITTED or WORKING, have no lease, and were written to by nobody for so long: what an older
     * build without leases left behind. At least twice `ttlMs`. Looked for once in this time and at most once a minute.
     * Default: never.
     */
    readonly orphanAfterMs?: number | undefined;
  };
  readonly clock: Clock;
  readonly logger: Logger;
  /** Counts `leaseless_turns_ended_total`. Default: nobody. */
  readonly telemetry?: Telemetry | undefined;
  /** From 0 to 1, for the jitter. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** Leases per transaction. More: longer locks and one slow commit; less: a mass death takes more round trips. */
export const DEFAULT_SWEEP_BATCH = 500;

/**
 * Leases per transaction for SQLite: a statement blocks this process, and with it every stream and every beat. 500
 * take about 50 ms.
 */
export const EMBEDDED_SWEEP_BATCH = 100;

/**
 * No rest on a server: it works on others' statements at the same time, and while a batch is under way this process
 * answers whom it likes. More: a mass death takes longer, and the living notice next to nothing of it.
 */
export const DEFAULT_SWEEP_REST = 0;

/** The rest for SQLite, whose statements stop everybody else of this process: half the time is theirs. */
export const EMBEDDED_SWEEP_REST = 1;
