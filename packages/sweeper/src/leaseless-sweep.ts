import { ClusterError, errorText, FAILURE_TEXT, SILENT_TELEMETRY } from '@a2a-cluster/core';
import { mayBeOneRow } from './row-faults.js';
import { DEFAULT_SWEEP_BATCH, type AbandonedTaskSweeperOptions } from './sweeper.js';

/** Looked for at most this often. Shorter: a query over the running tasks, for what comes once in an upgrade. */
const LEAST_INTERVAL_MS = 60_000;

/** A batch that failed is tried again in so many parts. */
const SPLIT = 4;

/** Batches of one pass, failed ones included. More: dead turns are ended later. */
const MOST_BATCHES = 24;

/** So many rows that cannot be ended are passed over; beyond it, it is not the rows. */
const MOST_BAD_ROWS = 8;

/**
 * Whether tasks may be ended that are silent for so long and have no lease.
 * @throws ClusterError `CONFIG_INVALID` with both numbers where live turns could fall under it.
 */
export function checkOrphanAge(options: {
  readonly orphanAfterMs?: number | undefined;
  readonly ttlMs: number;
}): void {
  const { orphanAfterMs, ttlMs } = options;
  if (orphanAfterMs === undefined || orphanAfterMs >= 2 * ttlMs) return;
  throw new ClusterError(
    'CONFIG_INVALID',
    `orphanAfterMs is ${orphanAfterMs}, it must be at least 2 x ttlMs (${2 * ttlMs}): turns are opened and taken over in that time`,
  );
}

/** Ends tasks that were left running without a lease (protocol 6): opt-in, for the time after an upgrade. */
export class LeaselessSweep {
  #lookedAtMs: number | null = null;

  constructor(
    private readonly options: AbandonedTaskSweeperOptions,
    private readonly stopped: () => boolean,
  ) {
    checkOrphanAge(options.options);
  }

  /**
   * Looks for them where that is due; gives how many were ended. What a few rows are to blame for is logged only.
   * @throws what the database throws when it cannot be asked.
   */
  async run(): Promise<number> {
    const { clock, options, telemetry = SILENT_TELEMETRY } = this.options;
    const { orphanAfterMs } = options;
    if (orphanAfterMs === undefined) return 0;
    const nowMs = clock.monotonicMs();
    const intervalMs = Math.min(LEAST_INTERVAL_MS, orphanAfterMs);
    if (this.#lookedAtMs !== null && nowMs - this.#lookedAtMs < intervalMs) return 0;
    const { ended, more } = await this.#endSome(orphanAfterMs);
    // What is left is for the next pass: expired leases have to be looked for in between.
    this.#lookedAtMs = more ? null : nowMs;
    if (ended > 0) telemetry.count('leaseless_turns_ended_total', {}, ended);
    return ended;
  }

  async #endSome(idleMs: number): Promise<{ readonly ended: number; readonly more: boolean }> {
    const batchSize = this.options.options.batchSize ?? DEFAULT_SWEEP_BATCH;
    let [limit, skip, ended] = [batchSize, 0, 0];
    for (let batches = 0; batches < MOST_BATCHES && !this.stopped(); batches += 1) {
      try {
        const done = await this.#end({ limit, skip, idleMs });
        ended += done;
        if (done < limit) return { ended, more: false };
        limit = Math.min(batchSize, limit * SPLIT);
      } catch (error) {
        if (!mayBeOneRow(error)) throw error;
        const one = limit === 1;
        limit = Math.floor(limit / SPLIT) || 1;
        if (!one) continue;
        this.options.logger.error(
          { error: errorText(error) },
          'a task that runs without a lease cannot be ended, it is passed over',
        );
        if (skip === MOST_BAD_ROWS) return { ended, more: false };
        skip += 1;
      }
    }
    return { ended, more: true };
  }

  async #end(batch: {
    readonly limit: number;
    readonly skip: number;
    readonly idleMs: number;
  }): Promise<number> {
    const { journal, sweeperId, clock } = this.options;
    const ended = await journal.sweepLeaseless({
      ...batch,
      sweeper: sweeperId,
      statusTimestamp: clock.wallIso(),
      text: FAILURE_TEXT.replica_lost,
    });
    return ended.length;
  }
}
