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
    ...lease,
  };
}
