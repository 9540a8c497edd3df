import { detached, FAILURE_TEXT, sleep } from '@a2a-cluster/core';
import type { SweepBatch, SweepOutcome } from '@a2a-cluster/db';
import type { BadRows, FailedRow } from './bad-rows.js';
import { mayBeOneRow } from './row-faults.js';
import type { AbandonedTaskSweeperOptions, SweepResult } from './sweeper.js';

/** After so many failures and no success it is more likely the database than the rows: the rest waits. */
const HOPELESS_FAILURES = 8;

/** A batch that failed is tried again in so many parts. */
const SPLIT = 4;

/** So few leases are swept one by one when they fail together. */
const ONE_BY_ONE = 8;

/** The break between two full batches at most. Longer: a slow database makes a mass death last for minutes. */
const LONGEST_BREAK_MS = 200;

/** What one pass is made of. */
export interface SweepPassOptions extends AbandonedTaskSweeperOptions {
  readonly batchSize: number;
  readonly restShare: number;
  readonly bad: BadRows;
  /** Asked between statements, so that a close does not wait for a long pass. */
  readonly stopped: () => boolean;
}

/** One pass over the expired leases, without timers. Made anew for every pass. */
export class SweepPass {
  readonly #options: SweepPassOptions;
  readonly #failures: FailedRow[] = [];
  readonly #tried = new Set<string>();
  #failed = 0;
  #dropped = 0;
  #orphans = 0;
  #skipped = 0;

  constructor(options: SweepPassOptions) {
    this.#options = options;
  }

  /** @throws what the database throws when the fault is not one row's. */
  async run(): Promise<Omit<SweepResult, 'leaseless'>> {
    const { bad } = this.#options;
    try {
      await this.#batches();
      await this.#retryBad();
    } finally {
      bad.note(this.#failures, { succeeded: this.#swept > 0 });
    }
    await this.#sweepOrphans();
    return {
      failed: this.#failed,
      dropped: this.#dropped,
      orphans: this.#orphans,
      skipped: this.#skipped,
      quiet: false,
    };
  }

  get #swept(): number {
    return this.#failed + this.#dropped;
  }

  /**
   * Full batches until one is not full. Where a batch fails, smaller ones close in on the row that is to blame, the
   * last few are swept one by one, and the batches grow again: a bad row costs some twenty statements, however many
   * good ones there are.
   */
  async #batches(): Promise<void> {
    const { batchSize, bad } = this.#options;
    let limit = batchSize;
    while (!this.#options.stopped()) {
      const except = [...bad.ids(), ...this.#failures.map((row) => row.taskId)];
      try {
        const beganAtMs = this.#options.clock.monotonicMs();
        const outcome = await this.#sweep({ limit, except });
        if (outcome.swept.length > 0 && outcome.candidates >= limit) {
          limit = Math.min(batchSize, limit * SPLIT);
          await this.#giveWay(this.#options.clock.monotonicMs() - beganAtMs);
          continue;
        }
        this.#skipped += outcome.candidates - outcome.swept.length;
        return;
      } catch (error) {
        if (!mayBeOneRow(error)) throw error;
        if (limit > ONE_BY_ONE) {
          limit = Math.max(ONE_BY_ONE, Math.floor(limit / SPLIT));
          continue;
        }
        if (!(await this.#takeApart(error))) return;
        limit = Math.min(batchSize, limit * SPLIT);
      }
    }
  }

  /** Where a batch stops the whole process, requests and turns of the living come in between. */
  async #giveWay(tookMs: number): Promise<void> {
    const delayMs = Math.min(tookMs * this.#options.restShare, LONGEST_BREAK_MS);
    if (delayMs > 0) await sleep({ clock: this.#options.clock, delayMs });
  }

  /** Sweeps the oldest expired leases one by one; gives whether a batch is worth another try. */
  async #takeApart(cause: unknown): Promise<boolean> {
    const { leases, batchSize, bad } = this.#options;
    const listed = await leases.listLeases(batchSize + bad.size + this.#failures.length);
    const expired = listed.filter(
      (lease) => lease.remainingMs <= 0 && !bad.has(lease.taskId) && !this.#tried.has(lease.taskId),
    );
    // A batch that fails over nothing is no row's fault.
    if (expired.length === 0) throw cause;
    const before = this.#swept + this.#failures.length;
    for (const { taskId } of expired.slice(0, ONE_BY_ONE)) {
      if (this.#options.stopped() || this.#hopeless) return false;
      await this.#one(taskId);
    }
    return this.#swept + this.#failures.length > before;
  }

  async #retryBad(): Promise<void> {
    const { bad, stopped } = this.#options;
    for (;;) {
      const taskId = bad.nextDue(this.#tried);
      if (taskId === undefined || stopped() || this.#hopeless) return;
      if ((await this.#one(taskId)) === 'done') bad.forget(taskId);
    }
  }

  get #hopeless(): boolean {
    return this.#swept === 0 && this.#failures.length >= HOPELESS_FAILURES;
  }

  async #one(taskId: string): Promise<'done' | 'locked' | 'failed'> {
    this.#tried.add(taskId);
    try {
      const { candidates, swept } = await this.#sweep({ limit: 1, taskId });
      this.#skipped += candidates - swept.length;
      return candidates > swept.length ? 'locked' : 'done';
    } catch (error) {
      if (!mayBeOneRow(error)) throw error;
      this.#failures.push({ taskId, error });
      return 'failed';
    }
  }

  async #sweep(batch: Pick<SweepBatch, 'limit' | 'taskId' | 'except'>): Promise<SweepOutcome> {
    const { journal, sweeperId, clock } = this.#options;
    const full = {
      ...batch,
      sweeper: sweeperId,
      statusTimestamp: clock.wallIso(),
      text: FAILURE_TEXT.replica_lost,
    };
    const outcome = await detached(() => journal.sweep(full));
    const failed = outcome.swept.filter((lease) => lease.failed !== null).length;
    this.#failed += failed;
    this.#dropped += outcome.swept.length - failed;
    return outcome;
  }

  async #sweepOrphans(): Promise<void> {
    const { journal, batchSize, stopped, logger } = this.#options;
    while (!stopped()) {
      const taskIds = await journal.sweepOrphans(batchSize);
      this.#orphans += taskIds.length;
      if (taskIds.length > 0) logger.warn({ taskIds }, 'leases without a task dropped');
      if (taskIds.length < batchSize) return;
    }
  }
}
