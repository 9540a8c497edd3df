import { isClusterError, isStorableKey, sleep, type EventRow, type Timer } from '@a2a-cluster/core';
import type { Clock, Telemetry } from '@a2a-cluster/core';
import type { LogStatements } from '@a2a-cluster/db';
import { Feed } from './feed.js';
import type { Host } from './host.js';
import type { Settings } from './options.js';
import type { FaultLog } from './rate-limited-log.js';

/** What a {@link Dispatcher} is made of. */
export interface DispatcherParts {
  readonly clock: Clock;
  readonly log: Pick<LogStatements, 'readHeads' | 'readEvents' | 'readEventsOf'>;
  readonly settings: Settings;
  readonly faults: FaultLog;
  readonly telemetry: Telemetry;
  /** How long until all heads are read again; asked before every wait. */
  pollIntervalMs(): number;
  /** Watching has begun or ended: there is something to read for, or nothing. */
  onWatching(watching: boolean): void;
}

const FIRST_RETRY_MS = 50;
const CLOSE_WAIT_MS = 2_000;

/**
 * The one reader of a replica: one query of heads for all watched tasks, then one for the rows of those that moved.
 * Never runs twice at a time; what wakes it meanwhile goes into the next round.
 */
export class Dispatcher implements Host {
  readonly clock: Clock;
  readonly log: DispatcherParts['log'];
  readonly settings: Settings;
  readonly faults: FaultLog;
  readonly telemetry: Telemetry;
  readonly feeds = new Map<string, Feed>();
  readonly #parts: DispatcherParts;
  readonly #heads = new Set<string>();
  readonly #fills = new Set<string>();
  /** Who still has to get rows before anybody gets more: a long log does not keep others waiting. */
  #round = new Set<string>();
  #allHeads = false;
  #readNumber = 0;
  #lastReadMs: number | null = null;
  /** When a read was begun last, or there was nothing to read for. */
  #lastAttemptMs = 0;
  #failures = 0;
  #started = false;
  #closed = false;
  #running: Promise<void> | null = null;
  #poll: Timer | null = null;
  #retry: Timer | null = null;

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    this.clock = parts.clock;
    this.log = parts.log;
    this.settings = parts.settings;
    this.faults = parts.faults;
    this.telemetry = parts.telemetry;
  }

  readNumber(): number {
    return this.#readNumber;
  }

  lastReadMs(): number | null {
    return this.#lastReadMs;
  }

  /**
   * How long nothing was tried, by the clock: a read that is under way, however long, is being tried. Null while there is
   * nothing to read for.
   */
  attemptAgeMs(): number | null {
    if (!this.#started || this.#closed || this.feeds.size === 0) return null;
    return this.#running === null ? this.clock.monotonicMs() - this.#lastAttemptMs : 0;
  }

  /** Of these tasks another replica says that they have news. */
  hinted(taskIds: readonly string[]): void {
    const atMs = this.clock.monotonicMs();
    for (const taskId of taskIds) {
      this.feeds.get(taskId)?.hinted(atMs);
      this.requestHead(taskId);
    }
  }

  /** A source of hints has seen that nothing was written, which is as good as a read. */
  confirmQuiet(): void {
    if (this.#running === null) this.#lastAttemptMs = this.clock.monotonicMs();
    if (this.#failures === 0 && this.#running === null) this.#lastReadMs = this.clock.monotonicMs();
  }

  requestFill(taskId: string): void {
    this.#fills.add(taskId);
    this.#kick();
  }

  requestHead(taskId: string): void {
    if (!this.feeds.has(taskId) || !isStorableKey(taskId)) return;
    this.#heads.add(taskId);
    this.#kick();
  }

  /** The task must be there; whether it is, is looked up soon. An id that no task can have is gone at once. */
  expect(taskId: string): void {
    this.feeds.get(taskId)?.expect();
    if (isStorableKey(taskId)) return this.requestHead(taskId);
    this.#readNumber += 1;
    this.#noteMissing(taskId, this.#readNumber);
  }

  /** Reads all watched heads, soon. */
  requestAll(): void {
    if (this.feeds.size === 0) return;
    this.#allHeads = true;
    this.#kick();
  }

  start(): void {
    this.#started = true;
    if (this.feeds.size > 0) this.#beginWatching();
    this.#kick();
  }

  /** Ends at once what is not a statement in flight, and waits a bounded time for that. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#poll?.cancel();
    this.#retry?.cancel();
    this.feeds.clear();
    if (this.#running === null) return;
    const waited = new AbortController();
    await Promise.race([
      this.#running,
      sleep({ clock: this.clock, delayMs: CLOSE_WAIT_MS, signal: waited.signal }),
    ]);
    waited.abort();
  }

  /** The feed of a task; a new one if it is not watched yet. Call {@link Dispatcher.release} when done with it. */
  acquire(taskId: string): Feed {
    const present = this.feeds.get(taskId);
    if (present) return present;
    const feed = new Feed(taskId, this);
    this.feeds.set(taskId, feed);
    if (this.feeds.size === 1 && this.#started) this.#beginWatching();
    return feed;
  }

  /** Forgets the feed if nobody uses it any more. */
  release(feed: Feed): void {
    if (feed.tails.size > 0 || feed.watchers.size > 0) return;
    if (this.feeds.get(feed.taskId) !== feed) return;
    this.feeds.delete(feed.taskId);
    if (this.feeds.size > 0 || !this.#started) return;
    this.#poll?.cancel();
    this.#poll = null;
    this.#parts.onWatching(false);
  }

  #beginWatching(): void {
    this.#lastAttemptMs = this.clock.monotonicMs();
    this.#armPoll();
    this.#parts.onWatching(true);
  }

  #armPoll(): void {
    this.#poll?.cancel();
    this.#poll = null;
    if (this.#closed || this.feeds.size === 0) return;
    this.#poll = this.clock.setTimer(this.#parts.pollIntervalMs(), () => {
      this.#poll = null;
      this.requestAll();
    });
  }

  #kick(): void {
    if (!this.#started || this.#closed || this.#running || this.#retry || !this.#hasWork()) return;
    this.#running = this.#run().finally(() => {
      this.#running = null;
      this.#kick();
    });
  }

  #hasWork(): boolean {
    return this.#allHeads || this.#heads.size > 0 || this.#fills.size > 0;
  }

  async #run(): Promise<void> {
    this.#lastAttemptMs = this.clock.monotonicMs();
    // What is asked for in the same tick goes into one query.
    await Promise.resolve();
    try {
      while (!this.#closed && this.#hasWork()) {
        await this.#readHeads();
        if (!this.#closed) await this.#fill();
      }
      this.#failures = 0;
      this.#lastReadMs = this.clock.monotonicMs();
    } catch (error) {
      this.#failed(error);
    }
    this.#lastAttemptMs = this.clock.monotonicMs();
  }

  #failed(error: unknown): void {
    if (this.#closed) return;
    this.faults('reading the log failed', error);
    this.#allHeads = true;
    const delayMs = Math.min(FIRST_RETRY_MS * 2 ** this.#failures, this.#parts.pollIntervalMs());
    this.#failures += 1;
    this.#retry = this.clock.setTimer(delayMs, () => {
      this.#retry = null;
      this.#kick();
    });
  }

  async #readHeads(): Promise<void> {
    const all = this.#allHeads;
    const asked = all
      ? [...this.feeds.keys()].filter(isStorableKey)
      : [...this.#heads].filter((id) => this.feeds.has(id));
    this.#allHeads = false;
    this.#heads.clear();
    if (all) this.#armPoll();
    if (asked.length === 0) return;
    this.#readNumber += 1;
    const number = this.#readNumber;
    const missing = new Set(asked);
    for (const head of await this.log.readHeads(asked)) {
      missing.delete(head.taskId);
      this.feeds.get(head.taskId)?.noteHead(head, number);
    }
    for (const taskId of missing) this.#noteMissing(taskId, number);
    for (const taskId of asked) this.#afterHead(taskId, number);
  }

  #afterHead(taskId: string, number: number): void {
    const feed = this.feeds.get(taskId);
    if (feed?.hungry) this.#fills.add(taskId);
    else feed?.settled(number);
  }

  /** The tails of a task that is gone end with its old feed; watchers go on, in case the id comes back. */
  #noteMissing(taskId: string, number: number): void {
    const feed = this.feeds.get(taskId);
    if (!feed?.noteMissing(number)) return;
    this.feeds.delete(taskId);
    if (feed.watchers.size === 0) return;
    const fresh = this.acquire(taskId);
    for (const watcher of feed.watchers) fresh.watchers.add(watcher);
  }

  /** One shared read of rows, at most a page. */
  async #fill(): Promise<void> {
    const feeds = this.#nextToFill();
    if (feeds.length === 0) return;
    const limit = this.settings.pageSize;
    const cursors = feeds.map((feed) => ({ taskId: feed.taskId, after: feed.fillFrom() }));
    const rows = await this.#readRows(feeds, cursors);
    if (rows === null) return;
    const byTask = groupByTask(rows);
    for (const feed of feeds) {
      const own = byTask.get(feed.taskId);
      if (own) this.#round.delete(feed.taskId);
      // Rows that must be there and are not, in an answer that had room for them.
      const absent = own ? feed.offer(own) === 'gap' : rows.length < limit;
      if (absent && feed.hungry) feed.leaveAlone();
    }
  }

  async #readRows(
    feeds: readonly Feed[],
    cursors: readonly { readonly taskId: string; readonly after: number }[],
  ): Promise<readonly EventRow[] | null> {
    try {
      return await this.log.readEventsOf({ cursors, limit: this.settings.pageSize });
    } catch (error) {
      if (!isClusterError(error, 'ROW_CORRUPT')) throw error;
      // One unreadable row spoils the shared answer: let each tail meet its own rows.
      for (const feed of feeds) feed.leaveAlone();
      return null;
    }
  }

  #nextToFill(): Feed[] {
    const hungry: Feed[] = [];
    for (const taskId of this.#fills) {
      const feed = this.feeds.get(taskId);
      if (feed?.hungry) hungry.push(feed);
      else this.#fills.delete(taskId);
    }
    let next = hungry.filter((feed) => this.#round.has(feed.taskId));
    if (next.length === 0) {
      next = hungry;
      this.#round = new Set(hungry.map((feed) => feed.taskId));
    }
    return next.slice(0, this.settings.pageSize);
  }
}

function groupByTask(rows: readonly EventRow[]): Map<string, EventRow[]> {
  const byTask = new Map<string, EventRow[]>();
  for (const row of rows) {
    const own = byTask.get(row.taskId);
    if (own) own.push(row);
    else byTask.set(row.taskId, [row]);
  }
  return byTask;
}
