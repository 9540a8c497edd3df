import { ClusterError } from '@a2a-cluster/core';
import type { Database } from '@a2a-cluster/db';

/** Options of the event stream. Times are in milliseconds of this process's clock. */
export interface EventStreamOptions {
  /**
   * How to hear of other replicas. `auto` (default): the best the database has. `listen`: LISTEN or refuse to
   * start. `poll`: ask at an interval only, for a PostgreSQL behind a transaction pooler such as PgBouncer.
   */
  readonly hints?: 'auto' | 'listen' | 'poll';
  /** How often all watched heads are read. Default 250, or 1 000 where LISTEN or a counter stands in front. */
  readonly pollIntervalMs?: number;
  /** How often the change counter of SQLite is read. Default 25. */
  readonly counterIntervalMs?: number;
  /** At most one hint is sent per window; the first goes at once. Default 10. */
  readonly hintWindowMs?: number;
  /** Most bytes of rows held per task and, for a tail that is behind, per tail. One larger row is held alone. Default 1 MiB. */
  readonly maxBufferedBytes?: number;
  /** Most rows held, likewise. Default 1 000. */
  readonly maxBufferedEvents?: number;
  /** Most rows per read of the log. Default 200. */
  readonly pageSize?: number;
  /** A tail fails after this long without a successful read. Default 30 000. */
  readonly readTimeoutMs?: number;
}

/** {@link EventStreamOptions} with every default filled in; `pollIntervalMs` stays open, its default depends. */
export interface Settings extends Required<Omit<EventStreamOptions, 'pollIntervalMs' | 'hints'>> {
  readonly pollIntervalMs: number | undefined;
  readonly mode: 'listen' | 'counter' | 'poll';
}

/** @throws `ClusterError` `CONFIG_INVALID` for a number that is not above 0, or LISTEN on a database without it. */
export function settingsOf(
  options: EventStreamOptions,
  database: Pick<Database, 'hints' | 'provider'>,
): Settings {
  for (const [name, value] of Object.entries(options)) {
    if (typeof value === 'number' && !(value > 0)) {
      throw new ClusterError('CONFIG_INVALID', `event stream: ${name} is ${value}; it must be above 0`);
    }
  }
  return {
    pollIntervalMs: options.pollIntervalMs,
    counterIntervalMs: options.counterIntervalMs ?? 25,
    hintWindowMs: options.hintWindowMs ?? 10,
    maxBufferedBytes: options.maxBufferedBytes ?? 1024 * 1024,
    maxBufferedEvents: options.maxBufferedEvents ?? 1000,
    pageSize: options.pageSize ?? 200,
    readTimeoutMs: options.readTimeoutMs ?? 30_000,
    mode: modeOf(options.hints ?? 'auto', database),
  };
}

function modeOf(
  hints: 'auto' | 'listen' | 'poll',
  database: Pick<Database, 'hints' | 'provider'>,
): Settings['mode'] {
  const { kind } = database.hints;
  if (hints === 'listen' && kind !== 'listen') {
    throw new ClusterError(
      'CONFIG_INVALID',
      `hints are set to 'listen', but ${database.provider} has no LISTEN; use 'auto' or 'poll'`,
    );
  }
  if (hints === 'poll' || kind === 'none') return 'poll';
  return kind;
}
