import { ClusterError, isClusterError } from '@a2a-cluster/core';
import { databaseMissing } from '../errors/faults.js';

/** The parts of the driver's errors that are looked at. */
interface DriverError {
  readonly errno?: unknown;
  readonly code?: unknown;
  readonly sqlState?: unknown;
  readonly sqlMessage?: unknown;
  readonly fatal?: unknown;
}

/** Errors below this number are the server's, from here on the driver's own. */
const FIRST_DRIVER_ERRNO = 45_000;

/** 1205 lock wait timeout, 1213 deadlock, 1020 record changed since it was read (MariaDB 11 snapshot isolation). */
const RETRYABLE = new Set([1205, 1213, 1020]);

/** Refused by the driver before anything was sent: closed connection, wrong parameters, text too long. */
const NOT_SENT = new Set([45_013, 45_016, 45_017, 45_018, 45_046]);

/**
 * Interruptions that may have hit the COMMIT itself: error during commit, server shutdown, killed query or
 * connection, statement time limit of MariaDB and of MySQL.
 */
const MAY_HIT_COMMIT = new Set([1053, 1180, 1181, 1317, 1927, 1969, 3024]);

/** The server is read-only now: after a failover the connection must be made anew. */
const DEMOTED = new Set([1290, 1792, 1836]);

/** The server answered the connect and refuses it for good: user, password, plugin, database. */
const REFUSED_ACCESS = new Set([1044, 1045, 1130, 1524, 1698]);

function driverError(error: unknown): DriverError {
  return typeof error === 'object' && error !== null ? error : {};
}

/** The server's or driver's error number, or null. */
export function errnoOf(error: unknown): number | null {
  const { errno } = driverError(error);
  return typeof errno === 'number' && errno > 0 ? errno : null;
}

/** Whether the server answered with an error and the connection goes on. */
export function isServerAnswer(error: unknown): boolean {
  const errno = errnoOf(error);
  return errno !== null && errno < FIRST_DRIVER_ERRNO && driverError(error).fatal !== true;
}

/** Deadlocks and lock timeouts: the transaction is rolled back and tried again. */
export function isRetryable(error: unknown): boolean {
  return isServerAnswer(error) && RETRYABLE.has(errnoOf(error) ?? 0);
}

/** Whether a connection that met this error must not be used again. */
export function endsConnection(error: unknown): boolean {
  return !isServerAnswer(error) || DEMOTED.has(errnoOf(error) ?? 0);
}

/** Whether a text that ends in COMMIT, and failed with this error, may have been committed all the same. */
export function mayHaveCommitted(error: unknown): boolean {
  const errno = errnoOf(error) ?? 0;
  if (NOT_SENT.has(errno)) return false;
  return MAY_HIT_COMMIT.has(errno) || !isServerAnswer(error);
}

/** Whether the connection was lost under a statement, the client-side time limit apart. */
export function isLost(error: unknown): boolean {
  return !isServerAnswer(error) && !isClusterError(error) && driverError(error).code !== CLIENT_TIMEOUT;
}

/** The `code` of the error that the client-side time limit raises. */
export const CLIENT_TIMEOUT = 'CLIENT_TIMEOUT';

/** What a statement ends with when its answer did not come in time. The connection is gone with it. */
export function clientTimeout(limitMs: number): Error {
  return Object.assign(new Error(`no answer within ${limitMs} ms`), { code: CLIENT_TIMEOUT, fatal: true });
}

/** Facts of a driver error for logs and tests: never the SQL, never parameters. */
function detailsOf(error: unknown): Record<string, unknown> {
  const { code, sqlState } = driverError(error);
  return { errno: errnoOf(error), code: code ?? null, sqlState: sqlState ?? null };
}

function textOf(error: unknown): string {
  const { sqlMessage } = driverError(error);
  if (typeof sqlMessage === 'string' && sqlMessage !== '') return sqlMessage;
  return error instanceof Error ? error.message : String(error);
}

/** The fault of a statement that has written nothing. Faults that are named already come back as they are. */
export function storeFault(error: unknown): ClusterError {
  if (isClusterError(error)) return error;
  return new ClusterError('STORE_FAULT', `the database answered with an error: ${textOf(error)}`, {
    cause: error,
    details: detailsOf(error),
  });
}

/** The fault of a write that was sent and whose fate is not known (protocol 3.6). */
export function unknownOutcome(error: unknown): ClusterError {
  return new ClusterError('UNKNOWN_OUTCOME', `the write was sent, its answer was lost: ${textOf(error)}`, {
    cause: error,
    details: detailsOf(error),
  });
}

/** The server answers, and has no database of that name. */
const NO_SUCH_DATABASE = 1049;

/** The fault of a connection that could not be opened: nobody there, or a server that will not have us. */
export function connectFault(error: unknown, where: string): ClusterError {
  if (isClusterError(error)) return error;
  if (errnoOf(error) === NO_SUCH_DATABASE) {
    const database = /'([^']+)'/.exec(textOf(error))?.[1] ?? 'of DATABASE_URL';
    return databaseMissing({ database, serverCode: String(NO_SUCH_DATABASE), cause: error });
  }
  const refused = REFUSED_ACCESS.has(errnoOf(error) ?? 0);
  const message = refused
    ? `the server at ${where} refuses the connection: ${textOf(error)}`
    : `no connection to the server at ${where}: ${textOf(error)}`;
  const options = { cause: error, details: detailsOf(error) };
  return new ClusterError(refused ? 'DATABASE_UNSUITABLE' : 'DATABASE_UNREACHABLE', message, options);
}
