import { ClusterError } from '@a2a-cluster/core';

/** Limits and habits of the request handler. Every time is in milliseconds. */
export interface HandlerOptions {
  /** Most turns this replica runs at once, executors that ignore their abort included. Default: no limit. */
  readonly maxConcurrentTurns?: number;
  /** How long a cancelled agent may take to end its task itself (protocol 8). Default: two heartbeats. */
  readonly cancelGraceMs?: number;
  /** How long `close` waits for running turns. Default {@link DEFAULT_DRAIN_TIMEOUT_MS}. */
  readonly drainTimeoutMs?: number;
  /** Whether `close` ends the turns it could not drain as FAILED; else another replica's sweeper does. Default true. */
  readonly failRunningTurnsOnClose?: boolean;
  /** A turn that ends in no final and no interrupted state: FAILED (`fail`, default) or left as it is (`keep`). */
  readonly incompleteTurn?: 'fail' | 'keep';
  /** How long a turn may linger after its task began to wait for its client. Default: for ever. */
  readonly interruptedTurnTimeoutMs?: number;
  /** Most bytes of one turn's events that wait to be stored. Default {@link DEFAULT_MAX_QUEUED_BYTES}. */
  readonly maxQueuedBytes?: number;
  /** The longest event that is stored, in bytes of its JSON. Default {@link DEFAULT_MAX_EVENT_BYTES}. */
  readonly maxEventBytes?: number;
  /** Most events of one turn. Default {@link DEFAULT_MAX_EVENTS_PER_TURN}. */
  readonly maxEventsPerTurn?: number;
  /** Most parts of one message. Default {@link DEFAULT_MAX_MESSAGE_PARTS}. */
  readonly maxMessageParts?: number;
  /**
   * Most messages of its user that a task takes, its first one included. Default {@link DEFAULT_MAX_TASK_MESSAGES}.
   */
  readonly maxTaskMessages?: number;
  /** How deep metadata and `data` parts of a request may be nested. Default {@link DEFAULT_MAX_METADATA_DEPTH}. */
  readonly maxMetadataDepth?: number;
  /**
   * Most turns one owner runs at once on this replica; they count as those of `maxConcurrentTurns` do. Default
   * {@link DEFAULT_MAX_PER_OWNER} for owners that are authenticated; a value of your own holds for the owner that
   * everybody without a name shares, too.
   */
  readonly maxTurnsPerOwner?: number;
  /** Most streams one owner has open on this replica, with the default of `maxTurnsPerOwner`. */
  readonly maxStreamsPerOwner?: number;
  /** Most streams this replica has open. Default {@link DEFAULT_MAX_STREAMS}. */
  readonly maxStreams?: number;
  /**
   * An answer of which its client takes no byte for so long is cut off, at the latest after twice that time. Default
   * {@link DEFAULT_SLOW_READER_TIMEOUT_MS}.
   */
  readonly slowReaderTimeoutMs?: number;
}

/** How many an owner may hold. */
export interface OwnerLimit {
  /** One that is authenticated. */
  readonly named: number;
  /** The one that all callers share who are not. */
  readonly unnamed: number;
}

/** {@link HandlerOptions} with every value decided. */
export interface ResolvedHandlerOptions {
  readonly maxConcurrentTurns: number;
  readonly cancelGraceMs: number;
  readonly drainTimeoutMs: number;
  readonly failRunningTurnsOnClose: boolean;
  readonly incompleteTurn: 'fail' | 'keep';
  readonly interruptedTurnTimeoutMs: number | null;
  readonly maxQueuedBytes: number;
  readonly maxEventBytes: number;
  readonly maxEventsPerTurn: number;
  readonly maxMessageParts: number;
  readonly maxMetadataDepth: number;
  readonly maxTaskMessages: number;
  readonly maxTurnsPerOwner: OwnerLimit;
  readonly maxStreamsPerOwner: OwnerLimit;
  readonly maxStreams: number;
  readonly slowReaderTimeoutMs: number;
  /** How long a follow-up waits for a holder that is about to let go, and what a refused caller is told to wait. */
  readonly heartbeatMs: number;
  /** TTL less margin: how long a lease may be trusted after the statement that brought it was sent. */
  readonly trustMs: number;
}

/** Kubernetes gives a pod 30 s to end; the rest is for the last writes. */
export const DEFAULT_DRAIN_TIMEOUT_MS = 20_000;

/** An agent this far ahead of the database is stopped before it takes the process's memory. */
export const DEFAULT_MAX_QUEUED_BYTES = 16 * 1024 * 1024;

/** The SDK's clients refuse a larger event. */
export const DEFAULT_MAX_EVENT_BYTES = 4 * 1024 * 1024;

/** A turn is read whole by whoever follows it; an agent that says more than this is in a loop. */
export const DEFAULT_MAX_EVENTS_PER_TURN = 100_000;

/** Each part is checked, translated and stored for itself. */
export const DEFAULT_MAX_MESSAGE_PARTS = 100;

/** A history is read, folded and sent whole; a talk that is longer goes on in a new task of its context. */
export const DEFAULT_MAX_TASK_MESSAGES = 1_000;

/** What clients, agents and databases walk through recursively stays far from the end of any stack. */
export const DEFAULT_MAX_METADATA_DEPTH = 32;

/** So that one user alone does not fill a replica. */
export const DEFAULT_MAX_PER_OWNER = 100;

/** What a replica's memory and its share of file handles carry; an open stream costs some 20 KiB while it waits. */
export const DEFAULT_MAX_STREAMS = 10_000;

/** Longer than any network holds its breath. */
export const DEFAULT_SLOW_READER_TIMEOUT_MS = 60_000;

/**
 * Fills in the defaults.
 * @throws ClusterError `CONFIG_INVALID` naming every value that is not a positive whole number.
 */
export function resolveHandlerOptions(
  options: HandlerOptions,
  lease: { readonly heartbeatMs: number; readonly trustMs: number },
): ResolvedHandlerOptions {
  const wrong = Object.entries(options)
    .filter(([, value]) => typeof value === 'number' && !(Number.isInteger(value) && value > 0))
    .map(([name, value]) => `${name} is ${String(value)}, it must be a whole number above 0`);
  if (wrong.length > 0) throw new ClusterError('CONFIG_INVALID', wrong.join('; '));
  return {
    maxConcurrentTurns: options.maxConcurrentTurns ?? Number.POSITIVE_INFINITY,
    cancelGraceMs: options.cancelGraceMs ?? 2 * lease.heartbeatMs,
    drainTimeoutMs: options.drainTimeoutMs ?? DEFAULT_DRAIN_TIMEOUT_MS,
    failRunningTurnsOnClose: options.failRunningTurnsOnClose ?? true,
    incompleteTurn: options.incompleteTurn ?? 'fail',
    interruptedTurnTimeoutMs: options.interruptedTurnTimeoutMs ?? null,
    maxQueuedBytes: options.maxQueuedBytes ?? DEFAULT_MAX_QUEUED_BYTES,
    maxEventBytes: options.maxEventBytes ?? DEFAULT_MAX_EVENT_BYTES,
    maxEventsPerTurn: options.maxEventsPerTurn ?? DEFAULT_MAX_EVENTS_PER_TURN,
    maxMessageParts: options.maxMessageParts ?? DEFAULT_MAX_MESSAGE_PARTS,
    maxMetadataDepth: options.maxMetadataDepth ?? DEFAULT_MAX_METADATA_DEPTH,
    maxTaskMessages: options.maxTaskMessages ?? DEFAULT_MAX_TASK_MESSAGES,
    maxTurnsPerOwner: perOwner(options.maxTurnsPerOwner),
    maxStreamsPerOwner: perOwner(options.maxStreamsPerOwner),
    maxStreams: options.maxStreams ?? DEFAULT_MAX_STREAMS,
    slowReaderTimeoutMs: options.slowReaderTimeoutMs ?? DEFAULT_SLOW_READER_TIMEOUT_MS,
    ...lease,
  };
}

/** Callers without a name share one owner, so nobody limits them by it who did not ask to. */
function perOwner(limit: number | undefined): OwnerLimit {
  if (limit !== undefined) return { named: limit, unnamed: limit };
  return { named: DEFAULT_MAX_PER_OWNER, unnamed: Number.POSITIVE_INFINITY };
}
