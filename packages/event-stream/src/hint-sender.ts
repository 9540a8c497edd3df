import { sleep, type Clock, type Timer } from '@a2a-cluster/core';
import type { FaultLog } from './rate-limited-log.js';

/** What a {@link HintSender} is made of. */
export interface HintSenderParts {
  readonly clock: Clock;
  readonly faults: FaultLog;
  readonly windowMs: number;
  notify(taskIds: readonly string[]): Promise<void>;
}

const CLOSE_WAIT_MS = 1_000;

/**
 * Tells other replicas which tasks have news: the first hint at once, then at most one statement per window and
 * never two at a time, ids folded together. What fails is logged and forgotten: the readers' interval covers it.
 */
export class HintSender {
  readonly #parts: HintSenderParts;
  #waiting = new Set<string>();
  #timer: Timer | null = null;
  #sending: Promise<void> | null = null;
  #closed = false;

  constructor(parts: HintSenderParts) {
    this.#parts = parts;
  }

  send(taskId: string): void {
    if (this.#closed) return;
    this.#waiting.add(taskId);
    this.#flush();
  }

  /** Sends what still waits, within a bounded time; later hints are dropped. Never rejects. */
  async close(): Promise<void> {
    this.#closed = true;
    // No window is opened any more, so nothing holds back the last one.
    this.#timer?.cancel();
    this.#timer = null;
    const waited = new AbortController();
    const patience = sleep({ clock: this.#parts.clock, delayMs: CLOSE_WAIT_MS, signal: waited.signal });
    await Promise.race([this.#drain(), patience]);
    waited.abort();
  }

  async #drain(): Promise<void> {
    await this.#sending;
    this.#flush();
    await this.#sending;
  }

  #flush(): void {
    if (this.#timer !== null || this.#sending !== null || this.#waiting.size === 0) return;
    const taskIds = [...this.#waiting];
    this.#waiting = new Set();
    this.#openWindow();
    this.#sending = this.#notify(taskIds).finally(() => {
      this.#sending = null;
      this.#flush();
    });
  }

  #openWindow(): void {
    if (this.#closed) return;
    this.#timer = this.#parts.clock.setTimer(this.#parts.windowMs, () => {
      this.#timer = null;
      this.#flush();
    });
  }

  async #notify(taskIds: readonly string[]): Promise<void> {
    try {
      await this.#parts.notify(taskIds);
    } catch (error) {
      this.#parts.faults('sending a hint failed', error);
    }
  }
}
