import { randomUUID } from 'node:crypto';
import { ClusterError, sleep, type Clock, type Timer } from '@a2a-cluster/core';
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
const SELF_TEST_MS = 2_000;
const CLOSE_WAIT_MS = 2_000;
const PROBE_PREFIX = 'a2a-cluster-probe:';

/**
 * PostgreSQL: one listening connection per replica. Each new connection must hear a hint of our own before it
 * counts (a transaction pooler takes LISTEN and delivers nothing), and is followed by a read of everything. While it
 * is not there the dispatcher asks at the short interval.
 */
export class ListenMode implements HintMode {
  readonly mode = 'listen';
  readonly #parts: ListenParts;
  readonly #echoes: EchoFilter;
  readonly #sender: HintSender;
  #listener: HintListener | null = null;
  #listening = false;
  #failures = 0;
  #retry: Timer | null = null;
  #closed = false;
  /** Grows with every connection: what an older one still says is not heard. */
  #generation = 0;
  #onProbe: ((probe: string) => void) | null = null;

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

  async start(): Promise<void> {
    await this.#connect();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#retry?.cancel();
    await this.#sender.close();
    await this.#drop();
  }

  async #connect(): Promise<void> {
    if (this.#closed) return;
    this.#generation += 1;
    const generation = this.#generation;
    try {
      const listener = await this.#parts.source.listen({
        onHint: (taskIds) => this.#heard(generation, taskIds),
        onLost: (cause) => this.#lost(generation, cause),
      });
      if (this.#closed || generation !== this.#generation) return void (await listener.close());
      this.#listener = listener;
      await this.#selfTest();
      if (this.#closed || generation !== this.#generation) return;
      this.#echoes.forget();
      this.#listening = true;
      this.#failures = 0;
      this.#parts.wake.all();
    } catch (error) {
      this.#lost(generation, error);
    }
  }

  async #selfTest(): Promise<void> {
    const { clock, source } = this.#parts;
    const probe = PROBE_PREFIX + randomUUID();
    const heard = new AbortController();
    this.#onProbe = (other) => {
      if (other === probe) heard.abort();
    };
    try {
      const patience = sleep({ clock, delayMs: SELF_TEST_MS, signal: heard.signal });
      await source.notify([probe]);
      await patience;
    } finally {
      this.#onProbe = null;
      heard.abort();
    }
    if (!heard.signal.aborted) throw deaf();
  }

  #heard(generation: number, taskIds: readonly string[]): void {
    if (this.#closed || generation !== this.#generation) return;
    const [probes, tasks] = split(taskIds);
    for (const probe of probes) this.#onProbe?.(probe);
    const news = this.#echoes.news(tasks);
    if (news.length > 0) this.#parts.wake.tasks(news);
  }

  #lost(generation: number, cause: unknown): void {
    if (this.#closed || generation !== this.#generation) return;
    this.#generation += 1;
    this.#listening = false;
    this.#parts.faults('LISTEN is not available; asking at an interval until it is', cause);
    void this.#drop();
    const delayMs = Math.min(FIRST_RETRY_MS * 2 ** this.#failures, LONGEST_RETRY_MS);
    this.#failures += 1;
    this.#retry = this.#parts.clock.setTimer(delayMs, () => void this.#connect());
    this.#parts.wake.all();
  }

  async #drop(): Promise<void> {
    const listener = this.#listener;
    this.#listener = null;
    this.#listening = false;
    if (listener === null) return;
    const waited = new AbortController();
    const { clock, faults } = this.#parts;
    const closing = listener
      .close()
      .catch((error: unknown) => faults('closing the LISTEN connection failed', error));
    await Promise.race([closing, sleep({ clock, delayMs: CLOSE_WAIT_MS, signal: waited.signal })]);
    waited.abort();
  }
}

function split(ids: readonly string[]): [probes: string[], tasks: string[]] {
  const isProbe = (id: string): boolean => id.startsWith(PROBE_PREFIX);
  return [ids.filter(isProbe), ids.filter((id) => !isProbe(id))];
}

function deaf(): ClusterError {
  return new ClusterError(
    'DATABASE_UNSUITABLE',
    "a NOTIFY did not come back by LISTEN: behind a transaction pooler set hints to 'poll'",
  );
}
