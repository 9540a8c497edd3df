import type { EventRow, Scope, Service, TaskEvent } from '@a2a-cluster/core';
import type { LogHead, StoredTask } from '@a2a-cluster/db';

/** One item of a {@link Tail}, in order. */
export type TailItem =
  /**
   * A row of the log and its event. Decoded once per replica and shared by every tail, so treat it as read-only.
   * Rows of kind `message` are included; the consumer leaves them out for subscribers.
   */
  | { readonly type: 'event'; readonly row: EventRow; readonly event: TaskEvent }
  /** The lease, the state or the version changed. Comes only after every event up to `head.version` was delivered. */
  | { readonly type: 'head'; readonly head: LogHead }
  /** The task no longer exists. The tail ends after it. */
  | { readonly type: 'gone' };

/**
 * The log of one task from a position on, for one consumer: no gap, no double (protocol 7). Buffers a bounded
 * amount; what does not fit is read from the log again as the consumer pulls.
 */
export interface Tail extends AsyncIterable<TailItem> {
  /** The seq of the last event that `next` gave, or the position the tail began at. */
  readonly cursor: number;
  /**
   * The next item, or null at the end: after `gone`, after `close`, or when the stream was closed. One call at a
   * time; a second one waits for the first. After a rejection the tail has ended.
   *
   * @throws `ClusterError` `STORE_FAULT` with `details.retriable` true when the log could not be read for
   * `readTimeoutMs`, or when the next rows were pruned ({@link isPruned}); `ROW_CORRUPT` when the next row cannot be decoded.
   */
  next(): Promise<TailItem | null>;
  /** Ends the tail and frees what it held, at once. A waiting `next` gives null. Idempotent. */
  close(): void;
}

/** Options of {@link EventStream.open}. */
export interface OpenTail {
  readonly taskId: string;
  readonly scope: Scope;
  /** An abort closes the tail. */
  readonly signal?: AbortSignal;
}

/** Options of {@link EventStream.attach}. */
export interface AttachTail {
  readonly taskId: string;
  /** The tail delivers events with seq greater than this. */
  readonly after: number;
  /** An abort closes the tail. */
  readonly signal?: AbortSignal;
  /** The task is known to exist: not finding it is `gone`. Default false: it may be about to be created. */
  readonly expectTask?: boolean;
}

/** What a replica has just committed. */
export interface CommittedEvents {
  readonly taskId: string;
  /** In order, as stored. */
  readonly rows: readonly EventRow[];
  /** The head after the rows. */
  readonly head: LogHead;
}

/** A lease this replica has dropped without writing an event. */
export interface ReleasedLease {
  readonly taskId: string;
  /** The turn that has ended. */
  readonly epoch: number;
  /** The task's version when the lease was dropped. */
  readonly version: number;
}

/** Options of {@link EventStream.watchHead}. */
export interface HeadWatch {
  readonly taskId: string;
  /** The task may have changed already: its head is asked for with the next shared read. Default false. */
  readonly soon?: boolean;
  /** Must not throw; what it throws is logged and dropped. Null: the task is gone. */
  onHead(head: LogHead | null): void;
}

/** What {@link EventStream.status} tells. */
export interface EventStreamStatus {
  /** How this replica hears of what others wrote. */
  readonly mode: 'listen' | 'counter' | 'poll';
  /** Whether the listening connection stands; false in the other modes. */
  readonly listening: boolean;
  /** Milliseconds since the dispatcher's last successful read by this process's clock; null: none yet. */
  readonly lastReadAgeMs: number | null;
  /**
   * Milliseconds since the dispatcher last tried to read, by this process's clock, whatever came of it; 0 while a read is
   * under way, null while nothing is watched.
   */
  readonly lastAttemptAgeMs: number | null;
  /** An attempt older than this means that the dispatcher itself has stopped. */
  readonly attemptLimitMs: number;
  /** Tasks that the dispatcher's query asks for. */
  readonly watchedTasks: number;
  /** Open tails. */
  readonly tails: number;
}

/**
 * The log as a stream: the one event source of every subscriber, near or far (protocol 7).
 *
 * All tails and watchers of a replica share one query per wake-up or interval. Hints between replicas only wake:
 * losing, doubling, delaying or reordering them changes latency and nothing else.
 */
export interface EventStream extends Service {
  /**
   * Reads the task in one statement and attaches a tail at its version: nothing is missed and nothing comes twice.
   * Null: there is no such task in that scope.
   *
   * @throws what the read throws, and `ClusterError` `CLOSED` after `close`.
   */
  open(open: OpenTail): Promise<{ readonly stored: StoredTask; readonly tail: Tail } | null>;
  /**
   * A tail from a known position, without a read. Also for a task this replica is about to create (`after: 0`): a
   * task that is not there counts as gone only once it was seen, or with `expectTask`.
   *
   * @throws `ClusterError` `CLOSED` after `close`.
   */
  attach(attach: AttachTail): Tail;
  /**
   * Tells what this replica has committed, after the commit. Local tails are fed directly where the first row is
   * their next one, else they read the log; other replicas get a hint. Never throws, never waits.
   */
  committed(committed: CommittedEvents): void;
  /** Tells that this replica has dropped a lease and written no event; other replicas get a hint. Never throws. */
  released(released: ReleasedLease): void;
  /** Wakes this replica and the others: something about the task's lease changed, such as a cancel mark. */
  hint(taskId: string): void;
  /**
   * Calls `onHead` with every head of the task this replica learns of, from the dispatcher's query or from local
   * commits; the first call may come late. Costs no query of its own. Gives a function that ends the watch.
   */
  watchHead(watch: HeadWatch): () => void;
  /** A snapshot for readiness and metrics. */
  status(): EventStreamStatus;
}
