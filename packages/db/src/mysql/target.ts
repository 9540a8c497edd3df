import { ClusterError } from '@a2a-cluster/core';

/** Where a MySQL or MariaDB server is, and which database of it is ours. Holds the password: never log it. */
export interface Target {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** A unix socket; host and port are then unused. */
  readonly socketPath: string | null;
  readonly tls: 'off' | 'verify' | 'accept-any';
}

/**
 * Reads a `mysql://` or `mariadb://` URL. Parameters: `socket=<path>`, `ssl=true`, and Prisma's
 * `sslaccept=strict|accept_invalid_certs`. Others, such as `connection_limit`, are left to the tools that know them.
 * @throws `ClusterError` `CONFIG_INVALID`; its message never holds the URL, which may carry a password.
 */
export function parseTarget(url: string): Target {
  const parsed = parseUrl(url);
  const database = decodeURIComponent(parsed.pathname.replace(/^\//, ''));
  if (database === '') throw new ClusterError('CONFIG_INVALID', 'the database URL names no database');
  return {
    host: decodeURIComponent(parsed.hostname).replace(/^\[|\]$/g, '') || '127.0.0.1',
    port: parsed.port === '' ? 3306 : Number(parsed.port),
    user: decodeURIComponent(parsed.username),
    password: decodeURIComponent(parsed.password),
    database,
    socketPath: parsed.searchParams.get('socket'),
    tls: tlsOf(parsed.searchParams),
  };
}

function parseUrl(url: string): URL {
  try {
    return new URL(url);
  } catch {
    // The platform's error quotes the whole URL.
    throw new ClusterError('CONFIG_INVALID', 'the database URL cannot be parsed');
  }
}

function tlsOf(parameters: URLSearchParams): Target['tls'] {
  const accept = parameters.get('sslaccept');
  if (accept === 'accept_invalid_certs') return 'accept-any';
  return accept === 'strict' || parameters.get('ssl') === 'true' ? 'verify' : 'off';
}
