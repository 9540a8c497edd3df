import { ClusterError, type EventRow } from '@a2a-cluster/core';
import type { LogHead } from '@a2a-cluster/db';
import { Entry } from './entry.js';
import type { Host } from './host.js';
import { headsDiffer, newerHead } from './log-head.js';
import { Window } from './window.js';

/** Rows a tail reads for itself. */
export interface Page {
  readonly entries: readonly Entry[];
  /** There was more in the answer than the buffer's bounds allow to keep. */
  readonly cut: boolean;
}

/** Somebody who wants the heads of a task. */
export type HeadWatcher = (head: LogHead | null) => void;

/** A consumer of a feed, as the feed sees it. */
export interface FeedTail {
  /** The seq of the last event it has delivered. */
  readonly cursor: number;
  /** Something may have changed for it. */
  wake(): void;
  /** Ends it with an error, after what it can still deliver without a read. */
  fail(error: ClusterError): void;
  /** Since when it has had no successful read that counts for it. */
  waitingSinceMs(lastReadMs: number | null): number;
  close(): void;
}

/** What one replica knows of one watched task, shared by all its tails and watchers. */
export class Feed {
  readonly taskId: string;
  readonly #tails = new Set<FeedTail>();
  readonly watchers = new Set<HeadWatcher>();
  readonly window: Window;
  /** The newest head, or null before the first. */
  head: LogHead | null = null;
  /** The task was there and is not any more; nothing follows. */
  gone = false;
  /** The highest seq known to be committed. */
  horizon = 0;
  readonly #host: Host;
  readonly #pages = new Map<string, Promise<Page>>();
  /** The read number when `horizon` was raised last: only a read started later may contradict it. */
  #learntAt = 0;
  #seen = false;
  /** An unanswered hint of another replica: when it came, and the number of the latest read of heads before it. */
  #hint: { readonly atMs: number; readonly readNumber: number } | null = null;
  /** Null: to be looked up. */
  #fastest: number | null = null;
  /** Up to this seq the shared read cannot serve the feed; its tails read for themselves. */
  #aloneTo = 0;

  constructor(taskId: string, host: Host) {
    this.taskId = taskId;
    this.#host = host;
    this.window = new Window({
      maxBytes: host.settings.maxBufferedBytes,
      maxEvents: host.settings.maxBufferedEvents,
    });
  }

  get tails(): ReadonlySet<FeedTail> {
    return this.#tails;
  }

  /** The furthest cursor of its tails, or -1. Kept, since every tail asks for it at every event. */
  get fastest(): number {
    if (this.#fastest !== null) return this.#fastest;
    let fastest = -1;
    for (const tail of this.#tails) fastest = Math.max(fastest, tail.cursor);
    this.#fastest = fastest;
    return fastest;
  }

  /** Takes a tail in. It tells of every step by {@link Feed.moved}. */
  add(tail: FeedTail): void {
    this.#tails.add(tail);
    this.moved(tail.cursor);
  }

  /** A tail is there now. */
  moved(cursor: number): void {
    if (this.#fastest !== null && cursor > this.#fastest) this.#fastest = cursor;
  }

  remove(tail: FeedTail): void {
    this.#tails.delete(tail);
    if (tail.cursor === this.#fastest) this.#fastest = null;
  }

  /** Whether the shared read should fetch rows: some tail is through with the window, and the log goes on. */
  get hungry(): boolean {
    if (this.gone || this.horizon <= this.window.end) return false;
    const { fastest } = this;
    return fastest >= this.window.end && fastest < this.horizon && fastest >= this.#aloneTo;
  }

  /** Where the shared read goes on. Moves the window to the furthest tail, if that read elsewhere meanwhile. */
  fillFrom(): number {
    const { fastest, window } = this;
    if (fastest > window.end) window.reset(fastest);
    return window.end;
  }

  /** Whether a tail at `cursor` has to read its rows for itself: the window is, or will be moved, past them. */
  readsAlone(cursor: number): boolean {
    if (cursor < this.window.start || cursor < this.#aloneTo) return true;
    return cursor >= this.window.end && cursor < this.fastest;
  }

  /** Lets the tails read up to the horizon for themselves: the shared read gave nothing, or cannot be made. */
  leaveAlone(): void {
    this.#aloneTo = this.horizon;
    this.wakeTails();
  }

  /** The task exists: not finding it in a read started from now on means it is gone. */
  expect(): void {
    if (this.#seen) return;
    this.#seen = true;
    this.#learntAt = this.#host.readNumber();
  }

  /** The log is known to reach this seq. */
  noteVersion(version: number): void {
    if (version <= this.horizon) return;
    this.horizon = version;
    this.#seen = true;
    this.#learntAt = this.#host.readNumber();
  }

  /** A head that was read (with the number of that read) or, without one, is local news. */
  noteHead(head: LogHead, readNumber?: number): void {
    if (head.version < this.horizon) {
      const contradicted = readNumber !== undefined && readNumber > this.#learntAt;
      if (!contradicted) return;
      this.#rewind(head.version);
    }
    const next = newerHead(this.head, head);
    if (next === null) return;
    // A tail that begins tells what it was read with. Where that is known, nobody waits for it: were all woken, the
    // joining of n tails would cost n * n. A head that was read wakes in any case.
    const known = readNumber === undefined && this.#tellsNothingNew(next);
    this.#seen = true;
    this.noteVersion(head.version);
    this.head = next;
    this.#tellWatchers(next);
    if (!known) this.wakeTails();
  }

  /** The task was not in the answer of that read. True: it is gone now. */
  noteMissing(readNumber: number): boolean {
    if (!this.#seen || readNumber <= this.#learntAt) return false;
    this.gone = true;
    this.#tellWatchers(null);
    this.wakeTails();
    return true;
  }

  /** Rows of the log, in order. Those that are next are held for the tails, others are passed over. */
  offer(rows: readonly EventRow[]): 'held' | 'full' | 'gap' {
    const last = rows.at(-1);
    if (last === undefined) return 'held';
    this.noteVersion(last.seq);
    const { fastest, window } = this;
    if (fastest === -1) return 'full';
    const first = rows[0]?.seq ?? 0;
    if (first > window.end + 1 && fastest > window.end) window.reset(fastest);
    const appended = window.append(rows, fastest);
    this.wakeTails();
    return appended;
  }

  /** Another replica says that there is news; the oldest such hint that is unanswered counts. */
  hinted(atMs: number): void {
    if (this.#tails.size > 0) this.#hint ??= { atMs, readNumber: this.#host.readNumber() };
  }

  /** A tail has delivered an event: the first one after a hint answers it. */
  delivered(): void {
    if (this.#hint === null) return;
    const tookMs = this.#host.clock.monotonicMs() - this.#hint.atMs;
    this.#hint = null;
    this.#host.telemetry.observe('hint_to_delivery_seconds', tookMs / 1_000);
  }

  /** That read of heads has found nothing to fetch: a hint before it told of no event, or of one that is here. */
  settled(readNumber: number): void {
    if (this.#hint !== null && readNumber > this.#hint.readNumber) this.#hint = null;
    this.#trim();
  }

  /** Forgets rows that every tail has consumed. */
  #trim(): void {
    let slowest = Infinity;
    for (const tail of this.#tails) slowest = Math.min(slowest, tail.cursor);
    this.window.dropTo(Math.min(slowest, this.window.end));
  }

  /**
   * Rows after `cursor` for a tail that the window cannot serve: contiguous, cut at the buffer's bounds, empty when
   * the next row is not there. Tails at the same place share one read.
   */
  readPage(cursor: number, limit: number): Promise<Page> {
    const key = `${cursor}/${limit}`;
    const running = this.#pages.get(key);
    if (running) return running;
    const page = this.#host.log
      .readEvents({ taskId: this.taskId, after: cursor, limit })
      .then((rows) => this.#cut(rows, cursor))
      .finally(() => this.#pages.delete(key));
    this.#pages.set(key, page);
    return page;
  }

  wakeTails(): void {
    for (const tail of this.#tails) tail.wake();
  }

  #tellsNothingNew(next: LogHead): boolean {
    return this.head?.version === next.version && !headsDiffer(this.head, next);
  }

  #cut(rows: readonly EventRow[], cursor: number): Page {
    const { maxBufferedBytes, maxBufferedEvents } = this.#host.settings;
    const entries: Entry[] = [];
    let bytes = 0;
    for (const row of rows) {
      if (row.seq !== cursor + entries.length + 1) break;
      const entry = new Entry(row);
      bytes += entry.bytes;
      const full = entries.length === maxBufferedEvents || bytes > maxBufferedBytes;
      if (entries.length > 0 && full) return { entries, cut: true };
      entries.push(entry);
    }
    return { entries, cut: false };
  }

  /** The log ends before what was known: a failover lost acknowledged events, or a cursor was never true. */
  #rewind(version: number): void {
    const details = { taskId: this.taskId, version, retriable: true, reason: 'rewound' };
    for (const tail of this.#tails) {
      if (tail.cursor <= version) continue;
      tail.fail(
        new ClusterError('STORE_FAULT', `the log ends at ${version}, before what was read of it`, {
          details,
        }),
      );
    }
    this.head = null;
    this.horizon = version;
    this.#aloneTo = 0;
    this.window.reset(version);
  }

  #tellWatchers(head: LogHead | null): void {
    for (const watcher of [...this.watchers]) {
      try {
        watcher(head);
      } catch (error) {
        this.#host.faults('a watcher of a task head threw', error);
      }
    }
  }
}
