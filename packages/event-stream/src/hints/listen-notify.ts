import { sleep, type Clock, type Timer } from '@a2a-cluster/core';
import type { HintListener, HintSource } from '@a2a-cluster/db';
import { HintSender } from '../hint-sender.js';
import type { FaultLog } from '../rate-limited-log.js';
import { EchoFilter } from './echo-filter.js';
import type { HintMode, Wake } from './hint-mode.js';

/** What the LISTEN mode is made of. */
export interface ListenParts {
  readonly source: Extract<HintSource, { kind: 'listen' }>;
  readonly clock: Clock;
  readonly faults: FaultLog;
  readonly wake: Wake;
  readonly hintWindowMs: number;
  /** The interval behind LISTEN (default 1 000), and while it is not there if it is below 250. */
  readonly pollIntervalMs: number | undefined;
}

const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 10_000;
const CLOSE_WAIT_MS = 2_000;

/**
 * PostgreSQL: one listening connection per replica. Each new one (which the database has proven to hear) is followed
 * by a read of everything. While none stands the dispatcher asks at the short interval.
 */
export class ListenMode implements HintMode {
  readonly mode = 'listen';
  readonly #parts: ListenParts;
  readonly #echoes: EchoFilter;
  readonly #sender: HintSender;
  #listener: HintListener | null = null;
  #listening = false;
  #listeningSinceMs = 0;
  #connecting: Promise<void> = Promise.resolve();
  #failures = 0;
  #retry: Timer | null = null;
  #closed = false;
  /** Grows with every connection: what an older one still says is not heard. */
  #generation = 0;

  constructor(parts: ListenParts) {
    const { source, clock, faults, hintWindowMs } = parts;
    this.#parts = parts;
    this.#echoes = new EchoFilter(clock);
    const notify = async (taskIds: readonly string[]): Promise<void> => {
      if (this.#listening) this.#echoes.sent(taskIds);
      try {
        await source.notify(taskIds);
      } catch (error) {
        this.#echoes.forget(taskIds);
        throw error;
      }
    };
    this.#sender = new HintSender({ clock, faults, windowMs: hintWindowMs, notify });
  }

  get listening(): boolean {
    return this.#listening;
  }

  get pollIntervalMs(): number {
    const { pollIntervalMs } = this.#parts;
    return this.#listening ? (pollIntervalMs ?? 1000) : Math.min(pollIntervalMs ?? 250, 250);
  }

  send(taskId: string): void {
    this.#sender.send(taskId);
  }

  watching(): void {}

  start(): Promise<void> {
    if (!this.#closed) this.#connecting = this.#connect();
    return this.#connecting;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#retry?.cancel();
    await this.#sender.close();
    await this.#drop();
    await this.#patiently(this.#connecting);
  }

  async #connect(): Promise<void> {
    this.#generation += 1;
    const generation = this.#generation;
    try {
      const listener = await this.#parts.source.listen({
        onHint: (taskIds) => this.#heard(generation, taskIds),
        onLost: (cause) => this.#lost(generation, cause),
      });
      if (this.#closed || generation !== this.#generation) return void (await listener.close());
      this.#listener = listener;
      this.#echoes.forget();
      this.#listening = true;
      this.#listeningSinceMs = this.#parts.clock.monotonicMs();
      this.#parts.wake.all();
    } catch (error) {
      this.#lost(generation, error);
    }
  }

  #heard(generation: number, taskIds: readonly string[]): void {
    if (this.#closed || generation !== this.#generation) return;
    const news = this.#echoes.news(taskIds);
    if (news.length > 0) this.#parts.wake.tasks(news);
  }

  #lost(generation: number, cause: unknown): void {
    if (this.#closed || generation !== this.#generation) return;
    this.#generation += 1;
    // A connection that holds for a while earns a quick retry; one that is cut again and again does not.
    if (this.#listening && this.#listenedMs() > LONGEST_RETRY_MS) this.#failures = 0;
    this.#listening = false;
    this.#parts.faults('LISTEN is not available; asking at an interval until it is', cause);
    void this.#drop();
    const delayMs = Math.min(FIRST_RETRY_MS * 2 ** this.#failures, LONGEST_RETRY_MS);
    this.#failures += 1;
    this.#retry = this.#parts.clock.setTimer(delayMs, () => void this.start());
    this.#parts.wake.all();
  }

  async #drop(): Promise<void> {
    const listener = this.#listener;
    this.#listener = null;
    this.#listening = false;
    if (listener === null) return;
    const { faults } = this.#parts;
    await this.#patiently(
      listener.close().catch((error: unknown) => faults('closing the LISTEN connection failed', error)),
    );
  }

  #listenedMs(): number {
    return this.#parts.clock.monotonicMs() - this.#listeningSinceMs;
  }

  async #patiently(work: Promise<void>): Promise<void> {
    const waited = new AbortController();
    const patience = sleep({ clock: this.#parts.clock, delayMs: CLOSE_WAIT_MS, signal: waited.signal });
    await Promise.race([work, patience]);
    waited.abort();
  }
}
