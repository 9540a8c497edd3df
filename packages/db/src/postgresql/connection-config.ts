import { ClusterError } from '@a2a-cluster/core';
import type { PoolConfig } from 'pg';
import type { DatabaseOptions } from '../database-options.js';

/** What connections of one kind are given. */
export interface ConnectionLimits {
  /** Server-side limit of one statement. The client waits a little longer, so that the server's answer wins. */
  readonly statementTimeoutMs: number;
  /** Server-side limit of waiting for one lock, and of an open transaction in which nothing is said. */
  readonly lockTimeoutMs: number;
  readonly connectTimeoutMs: number;
}

/** Where and as whom to connect. */
export interface PostgresTarget {
  /** The URL for the driver, without `schema` and `options`. Holds the password: never log it. */
  readonly connectionString: string;
  /** The schema of all tables: `?schema=`, by default `public`, which is Prisma's default too. */
  readonly schema: string;
  /** The URL's own `options`, sent before ours. */
  readonly userOptions: string;
}

/** How much longer than the server the client waits for an answer. */
const CLIENT_SLACK_MS = 500;

/**
 * Takes a `postgresql://` URL apart.
 * @throws `ClusterError` `CONFIG_INVALID` when it is not a URL; the text never repeats it.
 */
export function parsePostgresUrl(url: string): PostgresTarget {
  if (!URL.canParse(url)) {
    // The parser's own error carries the URL, password and all.
    const text =
      'the PostgreSQL URL cannot be read; special characters of its password must be percent-encoded';
    throw new ClusterError('CONFIG_INVALID', text);
  }
  const target = new URL(url);
  const schema = target.searchParams.get('schema') ?? '';
  const userOptions = target.searchParams.get('options') ?? '';
  if (!isUsableSchema(schema)) {
    // Prisma does not escape quotes in the schema's name.
    const text = `the schema of the PostgreSQL URL, ${JSON.stringify(schema)}, has a quote or is over 63 bytes`;
    throw new ClusterError('CONFIG_INVALID', text);
  }
  for (const ours of ['schema', 'options', 'query_timeout', 'statement_timeout', 'lock_timeout'])
    target.searchParams.delete(ours);
  return { connectionString: target.toString(), schema: schema || 'public', userOptions };
}

function isUsableSchema(schema: string): boolean {
  return !schema.includes('"') && Buffer.byteLength(schema, 'utf8') <= 63;
}

/**
 * The `options` start parameter: settings in force before the first statement, and again after every reconnect,
 * without a round trip. Rejected: `SET` on the pool's `connect` event, which races with the first query of a
 * connection that somebody else (Prisma) takes from the pool.
 *
 * The search path is the schema alone, so a role's or a database's own path cannot put another table in front.
 */
export function sessionOptions(target: PostgresTarget, limits: ConnectionLimits): string {
  const settings = {
    default_transaction_isolation: 'read committed',
    timezone: 'UTC',
    search_path: `"${target.schema}"`,
    statement_timeout: limits.statementTimeoutMs,
    lock_timeout: limits.lockTimeoutMs,
    idle_in_transaction_session_timeout: limits.lockTimeoutMs,
  };
  const ours = Object.entries(settings).map(
    ([name, value]) => `-c ${name}=${String(value).replaceAll(/[\\\s]/g, '\\$&')}`,
  );
  return [target.userOptions, ...ours].filter((part) => part !== '').join(' ');
}

/** The driver's configuration for one kind of connection. `purpose` ends up in `pg_stat_activity`. */
export function poolConfig(config: {
  readonly target: PostgresTarget;
  readonly limits: ConnectionLimits;
  readonly purpose: string;
}): PoolConfig {
  const { target, limits, purpose } = config;
  return {
    connectionString: target.connectionString,
    options: sessionOptions(target, limits),
    application_name: `a2a-cluster ${purpose}`,
    connectionTimeoutMillis: limits.connectTimeoutMs,
    query_timeout: limits.statementTimeoutMs + CLIENT_SLACK_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
  };
}

/** Limits of the request pool: locks and idle transactions end after a third of the TTL (protocol 3.12). */
export function requestLimits(options: DatabaseOptions): ConnectionLimits {
  return {
    statementTimeoutMs: options.statementTimeoutMs ?? 10_000,
    lockTimeoutMs: Math.max(1, Math.floor(options.ttlMs / 3)),
    connectTimeoutMs: options.connectTimeoutMs ?? 5_000,
  };
}

/**
 * Limits of the connections for leases: the renewal timeout, a fifth of the TTL (protocol 11). A beat that is late
 * must have ended on the server before its retry arrives.
 */
export function beatLimits(options: DatabaseOptions): ConnectionLimits {
  const request = requestLimits(options);
  const renewalMs = Math.max(1, Math.floor(options.ttlMs / 5));
  return {
    statementTimeoutMs: Math.min(request.statementTimeoutMs, renewalMs),
    lockTimeoutMs: Math.min(request.lockTimeoutMs, renewalMs),
    connectTimeoutMs: Math.min(request.connectTimeoutMs, renewalMs),
  };
}
