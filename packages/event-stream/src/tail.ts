import { isClusterError, type ClusterError, type Timer } from '@a2a-cluster/core';
import type { LogHead } from '@a2a-cluster/db';
import type { Entry } from './entry.js';
import type { Tail, TailItem } from './event-stream.js';
import type { Feed, Page } from './feed.js';
import type { Host } from './host.js';
import { headsDiffer } from './log-head.js';
import { prunedFault } from './pruned.js';

/** What a {@link LogTail} is made of. */
export interface TailParts {
  readonly feed: Feed;
  readonly host: Host;
  readonly after: number;
  /** The head its consumer knows already. */
  readonly known: LogHead | null;
  onClose(tail: LogTail): void;
}

const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 2_000;
/** Reads that end before a row that must be there, until the tail gives up on it. */
const MISSING_READS = 3;

/** A cursor into a task's {@link Feed}, with a page of its own while it is behind the shared window. */
export class LogTail implements Tail {
  readonly #parts: TailParts;
  readonly #startMs: number;
  #cursor: number;
  #head: LogHead | null;
  #closed = false;
  #failure: ClusterError | null = null;
  #page: readonly Entry[] = [];
  #limit: number;
  #loadingSinceMs: number | null = null;
  #failingSinceMs: number | null = null;
  #failures = 0;
  #missing = 0;
  /** It reads for itself, since the shared window last served it. */
  #alone = false;
  #retry: Timer | null = null;
  #waiter: (() => void) | null = null;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(parts: TailParts) {
    this.#parts = parts;
    this.#cursor = parts.after;
    this.#head = parts.known;
    this.#limit = parts.host.settings.pageSize;
    this.#startMs = parts.host.clock.monotonicMs();
  }

  get cursor(): number {
    return this.#cursor;
  }

  next(): Promise<TailItem | null> {
    const result = this.#queue.then(() => this.#pull());
    this.#queue = result.catch(() => {});
    return result;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#page = [];
    this.#retry?.cancel();
    this.#parts.onClose(this);
    this.wake();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<TailItem> {
    try {
      for (let item = await this.next(); item !== null; item = await this.next()) yield item;
    } finally {
      this.close();
    }
  }

  /** Something may have changed for it. */
  wake(): void {
    const waiter = this.#waiter;
    this.#waiter = null;
    waiter?.();
  }

  /** Ends it with an error, after what it can still deliver without a read. */
  fail(error: ClusterError): void {
    this.#failure ??= error;
    this.wake();
  }

  /** Since when it has had no successful read that counts for it. */
  waitingSinceMs(lastReadMs: number | null): number {
    if (this.#failingSinceMs !== null) return this.#failingSinceMs;
    if (this.#loadingSinceMs !== null) return this.#loadingSinceMs;
    return Math.max(this.#startMs, lastReadMs ?? 0);
  }

  async #pull(): Promise<TailItem | null> {
    for (;;) {
      if (this.#closed) return null;
      const item = this.#take();
      if (item) return item;
      this.#seek();
      await new Promise<void>((resolve) => (this.#waiter = resolve));
    }
  }

  #take(): TailItem | null {
    const { feed } = this.#parts;
    const entry = this.#entry(this.#cursor + 1);
    if (entry) return this.#deliver(entry);
    if (this.#failure) this.#throw(this.#failure);
    if (feed.gone) {
      this.close();
      return { type: 'gone' };
    }
    return this.#takeHead(feed.head);
  }

  #entry(seq: number): Entry | undefined {
    const held = this.#parts.feed.window.at(seq);
    if (held) {
      this.#page = [];
      this.#alone = false;
      return held;
    }
    const first = this.#page[0];
    return first && this.#page[seq - first.row.seq];
  }

  #deliver(entry: Entry): TailItem {
    try {
      const item: TailItem = { type: 'event', row: entry.row, event: entry.event };
      this.#cursor = entry.row.seq;
      this.#parts.feed.moved(this.#cursor);
      this.#parts.feed.delivered();
      if (this.#page.at(-1) === entry) this.#page = [];
      return item;
    } catch (error) {
      this.close();
      throw error;
    }
  }

  #takeHead(head: LogHead | null): TailItem | null {
    // A head older than where the tail began tells of another turn than its consumer's.
    if (head === null || head.version > this.#cursor || head.version < this.#parts.after) return null;
    const differs = headsDiffer(this.#head, head);
    this.#head = head;
    return differs ? { type: 'head', head } : null;
  }

  #throw(error: ClusterError): never {
    this.close();
    throw error;
  }

  #seek(): void {
    const { feed, host } = this.#parts;
    if (feed.horizon <= this.#cursor) return;
    if (feed.readsAlone(this.#cursor)) this.#load();
    else host.requestFill(feed.taskId);
  }

  #load(): void {
    if (this.#loadingSinceMs !== null || this.#retry !== null) return;
    const { feed, host } = this.#parts;
    if (!this.#alone) host.telemetry.count('stream_fallbacks_total');
    this.#alone = true;
    this.#loadingSinceMs = host.clock.monotonicMs();
    feed.readPage(this.#cursor, this.#limit).then(
      (page) => this.#loaded(page),
      (error: unknown) => this.#notLoaded(error),
    );
  }

  #loaded({ entries, cut }: Page): void {
    const startedMs = this.#loadingSinceMs;
    this.#loadingSinceMs = null;
    if (this.#closed) return;
    if (entries.length === 0) return this.#rowMissing(startedMs);
    const { pageSize } = this.#parts.host.settings;
    this.#limit = cut ? entries.length : Math.min(this.#limit * 2, pageSize);
    this.#failingSinceMs = null;
    this.#failures = 0;
    this.#missing = 0;
    this.#page = entries;
    this.wake();
  }

  /** The row after the cursor is not in the log: the task is being purged, or the cursor lies in pruned rows. */
  #rowMissing(sinceMs: number | null): void {
    const { feed, host } = this.#parts;
    this.#missing += 1;
    if (this.#missing >= MISSING_READS) {
      return this.fail(prunedFault({ taskId: feed.taskId, seq: this.#cursor + 1 }));
    }
    host.requestHead(feed.taskId);
    this.#retryLater(sinceMs);
  }

  #notLoaded(error: unknown): void {
    const startedMs = this.#loadingSinceMs;
    this.#loadingSinceMs = null;
    if (this.#closed) return;
    const unreadable = isClusterError(error, 'ROW_CORRUPT');
    if (unreadable && this.#limit === 1) return this.fail(error);
    // The unreadable row may be a later one of the page: go there row by row.
    if (unreadable) {
      this.#limit = 1;
      return this.wake();
    }
    this.#parts.host.faults('reading the log for a tail failed', error);
    this.#retryLater(startedMs);
  }

  #retryLater(sinceMs: number | null): void {
    const { clock } = this.#parts.host;
    this.#failingSinceMs ??= sinceMs ?? clock.monotonicMs();
    const delayMs = Math.min(FIRST_RETRY_MS * 2 ** this.#failures, LONGEST_RETRY_MS);
    this.#failures += 1;
    this.#retry = clock.setTimer(delayMs, () => {
      this.#retry = null;
      this.wake();
    });
  }
}
