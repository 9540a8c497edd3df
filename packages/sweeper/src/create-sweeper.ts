import { ClusterError, errorText, isClusterError, withFields, type Timer } from '@a2a-cluster/core';
import { BadRows } from './bad-rows.js';
import { LeaselessSweep } from './leaseless-sweep.js';
import { SweepPass } from './sweep-pass.js';
import {
  DEFAULT_SWEEP_BATCH,
  DEFAULT_SWEEP_REST,
  type AbandonedTaskSweeper,
  type AbandonedTaskSweeperOptions,
  type SweepResult,
} from './sweeper.js';
import { WakeUp } from './wake-up.js';

/** After the baseline of the clock was taken: soon, for turns may have been abandoned before this replica came. */
const AFTER_BASELINE_MS = 1_000;

const NOTHING: SweepResult = {
  ...{ failed: 0, dropped: 0, orphans: 0, leaseless: 0, skipped: 0 },
  quiet: false,
};

/**
 * Makes the sweeper of one replica.
 * @throws ClusterError `CONFIG_INVALID` for an `orphanAfterMs` below twice the TTL.
 */
export function createAbandonedTaskSweeper(options: AbandonedTaskSweeperOptions): AbandonedTaskSweeper {
  return new Sweeper(options);
}

class Sweeper implements AbandonedTaskSweeper {
  readonly #options: AbandonedTaskSweeperOptions;
  readonly #bad: BadRows;
  readonly #wakeUp: WakeUp;
  readonly #leaseless: LeaselessSweep;
  #started = false;
  #closed = false;
  #baseline = false;
  #outages = 0;
  #timer: Timer | null = null;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: AbandonedTaskSweeperOptions) {
    this.#options = { ...options, logger: withFields(options.logger, { sweeper: options.sweeperId }) };
    this.#bad = new BadRows(this.#options);
    this.#wakeUp = new WakeUp(this.#options, this.#bad);
    this.#leaseless = new LeaselessSweep(this.#options, () => this.#closed);
  }

  async start(): Promise<void> {
    if (this.#started || this.#closed) return;
    this.#started = true;
    this.#schedule(0);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    await this.#last;
  }

  runOnce(): Promise<SweepResult> {
    return this.#inTurn(() => this.#pass());
  }

  /** One at a time: two passes of one replica would only lock each other's rows. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const run = this.#last.then(() => {
      if (this.#closed) throw new ClusterError('CLOSED', 'the sweeper was closed');
      return work();
    });
    this.#last = run.catch(() => {});
    return run;
  }

  #schedule(delayMs: number): void {
    if (this.#closed) return;
    const tick = (): void => void this.#inTurn(() => this.#tick()).catch(() => {});
    this.#timer = this.#options.clock.setTimer(delayMs, tick);
  }

  async #tick(): Promise<void> {
    let delayMs: number;
    try {
      delayMs = this.#baseline
        ? await this.#wakeUp.afterPass(await this.#pass())
        : await this.#takeBaseline();
      if (this.#outages > 0) this.#options.logger.info({ passes: this.#outages }, 'sweeping works again');
      this.#outages = 0;
    } catch (error) {
      this.#outages += 1;
      if (Number.isInteger(Math.log2(this.#outages)))
        this.#options.logger.warn({ passes: this.#outages, error: errorText(error) }, 'sweeping failed');
      delayMs = this.#wakeUp.afterOutage(this.#outages);
    }
    this.#schedule(delayMs);
  }

  /** The first pass claims nothing: there is no earlier reading that could tell of a clock that jumped. */
  async #takeBaseline(): Promise<number> {
    await this.#options.clockWatch.observe();
    this.#baseline = true;
    return Math.min(AFTER_BASELINE_MS, this.#options.options.sweepIntervalMs);
  }

  async #pass(): Promise<SweepResult> {
    const { clockWatch, leases } = this.#options;
    await clockWatch.observe();
    this.#baseline = true;
    if (clockWatch.quiet()) return { ...NOTHING, quiet: true };
    // One read spares an idle replica two writing statements per pass. It sees every lease, also those without a task.
    const expiryMs = await leases.nextExpiry();
    this.#wakeUp.noteExpiry(expiryMs);
    const idle = this.#bad.size === 0 && (expiryMs === null || expiryMs > 0);
    const swept = idle ? NOTHING : await this.#sweepLeases();
    return { ...swept, leaseless: await this.#leaseless.run() };
  }

  async #sweepLeases(): Promise<Omit<SweepResult, 'leaseless'>> {
    const { clockWatch, options } = this.#options;
    const batchSize = options.batchSize ?? DEFAULT_SWEEP_BATCH;
    const restShare = options.restShare ?? DEFAULT_SWEEP_REST;
    const stopped = (): boolean => this.#closed;
    try {
      return await new SweepPass({ ...this.#options, batchSize, restShare, bad: this.#bad, stopped }).run();
    } catch (error) {
      if (isClusterError(error, 'DATABASE_UNREACHABLE')) clockWatch.noteReadFailure();
      throw error;
    }
  }
}
