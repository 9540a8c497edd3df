import net from 'node:net';
import { ClusterError, errorText, type Clock, type Logger } from '@a2a-cluster/core';
import mariadb, { type Connection, type ConnectionConfig, type QueryOptions } from 'mariadb';
import { clientTimeout, connectFault, endsConnection } from './faults.js';
import { sessionSettings, type SessionLimits } from './session-settings.js';
import type { Target } from './target.js';

/** How far the client's limit lies behind the server's, so that the server's word is usually the first. */
const CLIENT_GRACE_MS = 250;

/** What opens sessions of one pool. */
export interface SessionOptions {
  readonly target: Target;
  readonly limits: SessionLimits;
  /** Several statements in one text; only for texts this package writes itself. */
  readonly multipleStatements: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** One connection with its settings made: READ COMMITTED, UTC, strict, limits (protocol 2, 3.5, 3.12). */
export interface Session {
  readonly isMariaDb: boolean;
  /** `8.0.40` or `10.11.19-MariaDB-..`, as the server names itself. */
  readonly serverVersion: string;
  /** The longest text the server takes, in bytes. */
  readonly maxPacketBytes: number;
  /** False once it was lost, destroyed or ended. */
  isAlive(): boolean;
  /**
   * Sends one text. Gives what the driver gives: rows, an outcome, or a list of these for several statements.
   * Rejects with the driver's error, or after the statement limit; then the connection is destroyed.
   */
  query(sql: string | QueryOptions, values?: readonly unknown[]): Promise<unknown>;
  /** Whether it still answers; destroyed if not. */
  isAnswering(withinMs: number): Promise<boolean>;
  /** Cuts the connection at once, without a word to the server, whose own limits end what it was doing. */
  destroy(): void;
  /** Says goodbye, waiting at most `withinMs`, then cuts. Never rejects. */
  end(withinMs: number): Promise<void>;
}

/** Options of every statement: whole numbers as numbers (ours stay below 2^53), text as text. */
const RESULT_FORM = { bigIntAsNumber: true, insertIdAsNumber: true, autoJsonMap: false } as const;

/** Oldest servers with SKIP LOCKED and sound READ COMMITTED locking. */
const OLDEST = { mariadb: [10, 6, 0], mysql: [8, 0, 17] } as const;

/**
 * Opens a connection and makes its settings, within the connect limit.
 * @throws `ClusterError` `DATABASE_UNREACHABLE`, or `DATABASE_UNSUITABLE` when the server is too old or refuses us.
 */
export async function openSession(options: SessionOptions): Promise<Session> {
  const { target, limits, clock } = options;
  const where = target.socketPath ?? `${target.host}:${target.port}`;
  const socket: { current: net.Socket | null } = { current: null };
  const cut = (): void => cutSocket(socket.current);
  const opening = prepare(options, socket);
  // A late success of an attempt that was given up must not leave a connection behind.
  opening.then(undefined, () => {});
  try {
    return await withLimit(opening, { clock, limitMs: limits.connectMs, onLimit: cut });
  } catch (error) {
    cut();
    throw connectFault(error, where);
  }
}

async function prepare(options: SessionOptions, socket: { current: net.Socket | null }): Promise<Session> {
  const connection = await mariadb.createConnection(driverConfig(options, socket));
  // Without a listener the driver throws a connection's loss into the void.
  connection.on('error', (error) =>
    options.logger.debug({ error: errorText(error) }, 'database connection lost'),
  );
  const serverVersion = connection.info?.serverVersion.raw ?? '';
  refuseOldServer(connection, serverVersion);
  const isMariaDb = connection.info?.isMariaDB() === true;
  for (const setting of sessionSettings({ isMariaDb, limits: options.limits }))
    await connection.query(setting);
  const maxPacketBytes = await readMaxPacket(connection);
  const cut = (): void => cutSocket(socket.current);
  return createSession({ connection, cut, isMariaDb, serverVersion, maxPacketBytes, options });
}

function refuseOldServer(connection: Connection, serverVersion: string): void {
  const [major, minor, patch] = connection.info?.isMariaDB() ? OLDEST.mariadb : OLDEST.mysql;
  if (connection.info?.hasMinVersion(major, minor, patch)) return;
  const found = serverVersion === '' ? 'a server without a version' : serverVersion;
  throw new ClusterError(
    'DATABASE_UNSUITABLE',
    `the server is ${found}; MariaDB 10.6 or MySQL 8.0.17 is the oldest that will do`,
  );
}

async function readMaxPacket(connection: Connection): Promise<number> {
  const rows = await connection.query<{ bytes: number }[]>({
    sql: 'SELECT @@max_allowed_packet AS bytes',
    ...RESULT_FORM,
  });
  return rows[0]?.bytes ?? 0;
}

function driverConfig(options: SessionOptions, socket: { current: net.Socket | null }): ConnectionConfig {
  const { target, limits, multipleStatements, logger } = options;
  const open = (): net.Socket => {
    const made =
      target.socketPath === null ? net.connect(target.port, target.host) : net.connect(target.socketPath);
    socket.current = made.setNoDelay(true);
    return made;
  };
  const config: ConnectionConfig = {
    host: target.host,
    port: target.port,
    user: target.user,
    password: target.password,
    database: target.database,
    connectTimeout: limits.connectMs,
    // The socket is ours, so that a connection that hangs can be cut without asking the driver, whose own way
    // opens a second connection to kill the first.
    stream: open as unknown as NonNullable<ConnectionConfig['stream']>,
    // No `timezone`, which only sends a statement that our own settings hold already: a connection that breaks under a
    // statement of the driver's own leaves a rejection that nobody can catch, and that ends a process.
    collation: 'UTF8MB4_BIN',
    multipleStatements,
    logger: { warning: (message) => logger.debug({}, message) },
  };
  if (target.tls === 'off') return config;
  return { ...config, ssl: target.tls === 'verify' ? true : { rejectUnauthorized: false } };
}

interface SessionParts {
  readonly connection: Connection;
  readonly cut: () => void;
  readonly isMariaDb: boolean;
  readonly serverVersion: string;
  readonly maxPacketBytes: number;
  readonly options: SessionOptions;
}

function createSession(parts: SessionParts): Session {
  const { connection, cut, isMariaDb, serverVersion, maxPacketBytes, options } = parts;
  const { clock, limits } = options;
  let gone = false;
  const destroy = (): void => {
    gone = true;
    cut();
  };
  const query: Session['query'] = async (sql, values) => {
    const form = typeof sql === 'string' ? { sql, ...RESULT_FORM } : sql;
    const limitMs = limits.statementMs + CLIENT_GRACE_MS;
    try {
      const answer = connection.query<unknown>(form, values);
      return await withLimit(answer, { clock, limitMs, onLimit: destroy });
    } catch (error) {
      if (endsConnection(error)) destroy();
      throw error;
    }
  };
  return {
    isMariaDb,
    serverVersion,
    maxPacketBytes,
    isAlive: () => !gone && connection.isValid(),
    query,
    async isAnswering(withinMs) {
      try {
        await withLimit(connection.ping(), { clock, limitMs: withinMs, onLimit: destroy });
      } catch {
        destroy();
      }
      return !gone;
    },
    destroy,
    async end(withinMs) {
      gone = true;
      try {
        await withLimit(connection.end(), { clock, limitMs: withinMs, onLimit: cut });
      } catch {
        cut();
      }
    },
  };
}

/** With an error, or the driver would not notice and leave what it had sent without an answer. */
function cutSocket(socket: net.Socket | null): void {
  socket?.destroy(new Error('the connection was cut'));
}

/** Waits for `promise`, at most `limitMs`; then `onLimit` runs and the wait rejects. A later outcome is dropped. */
async function withLimit<T>(
  promise: Promise<T>,
  options: { readonly clock: Clock; readonly limitMs: number; readonly onLimit: () => void },
): Promise<T> {
  const { clock, limitMs, onLimit } = options;
  return new Promise<T>((resolve, reject) => {
    const timer = clock.setTimer(limitMs, () => {
      reject(clientTimeout(limitMs));
      onLimit();
    });
    promise.then(resolve, reject).finally(() => timer.cancel());
  });
}
