import { ClusterError, errorText, SILENT_TELEMETRY, type Timer } from '@a2a-cluster/core';
import { BadTasks } from './bad-tasks.js';
import { RetentionPass } from './pass.js';
import type { Retention, RetentionParts, RetentionResult } from './retention.js';

/** Spreads the passes of replicas that were started together. */
const JITTER = 0.2;

/** The first pass begins within this, a pass that failed is repeated within it, and a replica that may not asks again. */
const SOON_MS = 60_000;

/** Makes the retention of one replica. Without a time for either it does nothing. */
export function createRetention(parts: RetentionParts): Retention {
  return new RetentionService(parts);
}

class RetentionService implements Retention {
  readonly #parts: RetentionParts;
  readonly #bad: BadTasks;
  readonly #closing = new AbortController();
  #started = false;
  #failures = 0;
  #timer: Timer | null = null;
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: RetentionParts) {
    this.#parts = parts;
    this.#bad = new BadTasks(parts.logger);
  }

  async start(): Promise<void> {
    const { eventsMs, tasksMs, intervalMs } = this.#parts.options;
    if (this.#started || (eventsMs === null && tasksMs === null)) return;
    this.#started = true;
    this.#schedule(Math.min(intervalMs, SOON_MS) * this.#random());
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#timer?.cancel();
    await this.#last;
  }

  runOnce(): Promise<RetentionResult> {
    return this.#inTurn(() => this.#pass());
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const run = this.#last.then(() => {
      if (this.#closing.signal.aborted) throw new ClusterError('CLOSED', 'the retention was closed');
      return work();
    });
    this.#last = run.catch(() => {});
    return run;
  }

  #schedule(delayMs: number): void {
    if (this.#closing.signal.aborted) return;
    const tick = (): void => void this.#inTurn(() => this.#tick()).catch(() => {});
    this.#timer = this.#parts.clock.setTimer(delayMs, tick);
  }

  async #tick(): Promise<void> {
    const { clock, options } = this.#parts;
    const beganAtMs = clock.monotonicMs();
    const intervalMs = options.intervalMs * (1 + JITTER * (2 * this.#random() - 1));
    const done = await this.#tryPass();
    const waitMs = done ? intervalMs : Math.min(intervalMs, SOON_MS);
    // A pass that took longer than the interval is followed by a rest all the same.
    this.#schedule(Math.max(waitMs - (clock.monotonicMs() - beganAtMs), waitMs / 10));
  }

  /** Whether a pass was made. Never rejects: what is not done now is due at the next pass. */
  async #tryPass(): Promise<boolean> {
    const { logger, mayRun = () => true } = this.#parts;
    try {
      if (!mayRun()) return false;
      const result = await this.#pass();
      if (result.events > 0 || result.tasks > 0) logger.info({ ...result }, 'ended tasks were pruned');
      if (this.#failures > 0) logger.info({ passes: this.#failures }, 'pruning works again');
      this.#failures = 0;
      return true;
    } catch (error) {
      this.#failures += 1;
      if (Number.isInteger(Math.log2(this.#failures)))
        logger.warn({ passes: this.#failures, error: errorText(error) }, 'pruning ended tasks failed');
      return false;
    }
  }

  #pass(): Promise<RetentionResult> {
    const { telemetry = SILENT_TELEMETRY } = this.#parts;
    const closing = this.#closing.signal;
    return new RetentionPass({ ...this.#parts, telemetry, bad: this.#bad, closing }).run();
  }

  #random(): number {
    return (this.#parts.random ?? Math.random)();
  }
}
