import {
  ClusterError,
  createSilentLogger,
  isStorableKey,
  SILENT_TELEMETRY,
  type Clock,
  type Logger,
  type Telemetry,
} from '@a2a-cluster/core';
import type { Database, LogHead, StoredTask } from '@a2a-cluster/db';
import { Dispatcher } from './dispatcher.js';
import type * as api from './event-stream.js';
import type { HeadWatcher } from './feed.js';
import { createCounterMode } from './hints/counter.js';
import type { HintMode, Wake } from './hints/hint-mode.js';
import { ListenMode } from './hints/listen-notify.js';
import { createPollMode } from './hints/poll.js';
import { headOf } from './log-head.js';
import { settingsOf, type EventStreamOptions, type Settings } from './options.js';
import { createFaultLog, type FaultLog } from './rate-limited-log.js';
import { LogTail } from './tail.js';
import { Watchdog } from './watchdog.js';

/** What {@link createEventStream} takes. */
export interface EventStreamParts {
  readonly database: Pick<Database, 'log' | 'hints' | 'provider'>;
  readonly clock: Clock;
  /** Faults that were got over are told here. Default: silence. */
  readonly logger?: Logger;
  readonly options?: EventStreamOptions;
  /** Told of subscribers that fell behind, and of how long hints take to become deliveries. Default: nobody. */
  readonly telemetry?: Telemetry;
}

/**
 * The event stream of one replica. Reads nothing before `start`; `start` does not reject when the database is away,
 * it goes on trying.
 *
 * @throws `ClusterError` `CONFIG_INVALID` when the options do not fit the database.
 */
export function createEventStream(parts: EventStreamParts): api.EventStream {
  return new ClusterEventStream(parts);
}

class ClusterEventStream implements api.EventStream {
  readonly #parts: EventStreamParts;
  readonly #dispatcher: Dispatcher;
  readonly #hints: HintMode;
  readonly #watchdog: Watchdog;
  readonly #readTimeoutMs: number;
  readonly #tails = new Set<LogTail>();
  #starting: Promise<void> | null = null;
  #closing: Promise<void> | null = null;

  constructor(parts: EventStreamParts) {
    const { clock, database } = parts;
    const settings = settingsOf(parts.options ?? {}, database);
    const faults = createFaultLog({ clock, logger: parts.logger ?? createSilentLogger() });
    this.#parts = parts;
    this.#hints = createMode({ parts, settings, faults, wake: this.#wake() });
    this.#dispatcher = new Dispatcher({
      clock,
      log: database.log,
      settings,
      faults,
      telemetry: parts.telemetry ?? SILENT_TELEMETRY,
      pollIntervalMs: () => this.#hints.pollIntervalMs,
      onWatching: (watching) => this.#hints.watching(watching),
    });
    this.#readTimeoutMs = settings.readTimeoutMs;
    this.#watchdog = new Watchdog({
      clock,
      timeoutMs: settings.readTimeoutMs,
      tails: this.#tails,
      lastReadMs: () => this.#dispatcher.lastReadMs(),
      requestRead: () => this.#dispatcher.requestAll(),
    });
  }

  start(): Promise<void> {
    return (this.#starting ??= this.#closing ? Promise.resolve() : this.#start());
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async open(open: api.OpenTail): Promise<{ stored: StoredTask; tail: api.Tail } | null> {
    const { taskId, scope, signal } = open;
    this.#assertOpen();
    if (!isStorableKey(taskId)) return null;
    // Watched before it is read: what is committed in between is heard of.
    const unwatch = this.watchHead({ taskId, onHead: () => {} });
    try {
      const stored = await this.#parts.database.log.readTask({ taskId, scope });
      this.#assertOpen();
      if (stored === null) return null;
      const known = headOf(stored);
      return { stored, tail: this.#addTail({ taskId, after: stored.version, known, signal }) };
    } finally {
      unwatch();
    }
  }

  attach(attach: api.AttachTail): api.Tail {
    const { taskId, after, signal, expectTask } = attach;
    this.#assertOpen();
    const tail = this.#addTail({ taskId, after, known: null, signal });
    if (expectTask) this.#dispatcher.expect(taskId);
    return tail;
  }

  committed({ taskId, rows, head }: api.CommittedEvents): void {
    if (this.#closing) return;
    const feed = this.#dispatcher.feeds.get(taskId);
    feed?.offer(rows);
    feed?.noteHead(head);
    if (feed?.hungry) this.#dispatcher.requestFill(taskId);
    this.#hints.send(taskId);
  }

  released({ taskId, epoch, version }: api.ReleasedLease): void {
    if (this.#closing) return;
    const feed = this.#dispatcher.feeds.get(taskId);
    const head = feed?.head;
    if (head?.version === version && head.lease?.epoch === epoch) feed?.noteHead({ ...head, lease: null });
    else this.#dispatcher.requestHead(taskId);
    this.#hints.send(taskId);
  }

  hint(taskId: string): void {
    if (this.#closing) return;
    this.#dispatcher.requestHead(taskId);
    this.#hints.send(taskId);
  }

  watchHead({ taskId, soon, onHead }: api.HeadWatch): () => void {
    if (this.#closing) return () => {};
    // An own function per watch: the same callback may watch twice.
    const watcher: HeadWatcher = (head: LogHead | null) => onHead(head);
    this.#dispatcher.acquire(taskId).watchers.add(watcher);
    if (soon) this.#dispatcher.requestHead(taskId);
    return () => {
      const feed = this.#dispatcher.feeds.get(taskId);
      if (feed?.watchers.delete(watcher)) this.#dispatcher.release(feed);
    };
  }

  status(): api.EventStreamStatus {
    const lastReadMs = this.#dispatcher.lastReadMs();
    return {
      mode: this.#hints.mode,
      listening: this.#hints.listening,
      lastReadAgeMs: lastReadMs === null ? null : this.#parts.clock.monotonicMs() - lastReadMs,
      lastAttemptAgeMs: this.#dispatcher.attemptAgeMs(),
      attemptLimitMs: Math.max(this.#readTimeoutMs, 3 * this.#hints.pollIntervalMs),
      watchedTasks: this.#dispatcher.feeds.size,
      tails: this.#tails.size,
    };
  }

  async #start(): Promise<void> {
    this.#dispatcher.start();
    await this.#hints.start();
  }

  async #close(): Promise<void> {
    this.#watchdog.close();
    for (const tail of [...this.#tails]) tail.close();
    await Promise.all([this.#hints.close(), this.#dispatcher.close()]);
  }

  #addTail(options: {
    readonly taskId: string;
    readonly after: number;
    readonly known: LogHead | null;
    readonly signal: AbortSignal | undefined;
  }): LogTail {
    const { taskId, after, known, signal } = options;
    const feed = this.#dispatcher.acquire(taskId);
    const abort = (): void => tail.close();
    const onClose = (): void => {
      signal?.removeEventListener('abort', abort);
      this.#tails.delete(tail);
      feed.remove(tail);
      this.#dispatcher.release(feed);
    };
    const tail = new LogTail({ feed, host: this.#dispatcher, after, known, onClose });
    this.#tails.add(tail);
    feed.add(tail);
    feed.noteVersion(after);
    if (known) feed.noteHead(known);
    this.#watchdog.arm();
    if (signal?.aborted) tail.close();
    else signal?.addEventListener('abort', abort, { once: true });
    return tail;
  }

  #assertOpen(): void {
    if (this.#closing) throw new ClusterError('CLOSED', 'the event stream is closed');
  }

  #wake(): Wake {
    return {
      tasks: (taskIds) => this.#dispatcher.hinted(taskIds),
      all: () => this.#dispatcher.requestAll(),
      quiet: () => this.#dispatcher.confirmQuiet(),
    };
  }
}

function createMode(options: {
  readonly parts: EventStreamParts;
  readonly settings: Settings;
  readonly faults: FaultLog;
  readonly wake: Wake;
}): HintMode {
  const { settings, faults, wake } = options;
  const { clock, database } = options.parts;
  const { pollIntervalMs, counterIntervalMs, hintWindowMs } = settings;
  const source = database.hints;
  if (settings.mode === 'listen' && source.kind === 'listen') {
    return new ListenMode({ source, clock, faults, wake, hintWindowMs, pollIntervalMs });
  }
  if (settings.mode === 'counter' && source.kind === 'counter') {
    return createCounterMode({ source, clock, faults, wake, counterIntervalMs, pollIntervalMs });
  }
  return createPollMode({ pollIntervalMs });
}
