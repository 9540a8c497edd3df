import { ClusterError, type Logger } from '@a2a-cluster/core';
import type { Provider } from './database.js';

/** Limits and sizes of a {@link Database}. Every time is in milliseconds. */
export interface DatabaseOptions {
  /** `file:` for SQLite, `postgresql://`, `mysql://` or `mariadb://`. */
  readonly url: string;
  readonly logger?: Logger;
  /** The TTL of leases: server-side limits of locks and idle transactions derive from it (protocol 3.12). */
  readonly ttlMs: number;
  /** Most connections for requests and the journal; heartbeat and LISTEN have their own. Default 10. */
  readonly poolSize?: number;
  /** How long one statement may take before both sides give up. Default 10 000. */
  readonly statementTimeoutMs?: number;
  /** How long connecting may take. Default 5 000. */
  readonly connectTimeoutMs?: number;
  /** SQLite only: `FULL` (default) keeps acknowledged commits at power loss, `NORMAL` may lose the last ones. */
  readonly sqliteSynchronous?: 'FULL' | 'NORMAL';
}

/**
 * The provider a database URL stands for.
 * @throws `ClusterError` `CONFIG_INVALID` for any other scheme; the message never holds the URL's password.
 */
export function providerOf(url: string): Exclude<Provider, 'memory'> {
  if (url.startsWith('file:')) return 'sqlite';
  if (/^postgres(ql)?:\/\//.test(url)) return 'postgresql';
  if (/^(mysql|mariadb):\/\//.test(url)) return 'mysql';
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(url)?.[0] ?? 'no scheme';
  throw new ClusterError(
    'CONFIG_INVALID',
    `the database URL has ${scheme}; it must start with file:, postgresql://, mysql:// or mariadb://`,
  );
}
