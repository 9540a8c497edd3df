import type { ClusterError } from '@a2a-cluster/core';
import {
  closedFault,
  databaseMissing,
  storeFault,
  unknownOutcome,
  unreachable,
  type StatementFault,
} from './faults.js';

/**
 * Deadlock, serialisation failure, lock timeout, statement timeout: the server rolled back, and the same statement
 * may well succeed a moment later.
 */
const RETRIABLE = new Set(['40P01', '40001', '55P03', '57014']);

/**
 * The server ends the session: shutdown, crash of another backend, idle limits, "completion unknown", protocol
 * errors (08, also what poolers answer). The commit may have happened just before.
 */
const SESSION_ENDS = /^(08...|57P0[1-5]|25P0[34]|40003)$/;

/** Errors with which a server dies in the middle of a commit (disk full, I/O, internal) when it says PANIC or FATAL. */
const MAY_END_SERVER = /^(53|58|XX)/;

/** The five characters of an error the server sent, or undefined for errors of the driver or the network. */
export function sqlStateOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || !('severity' in error)) return undefined;
  return typeof error.code === 'string' && error.code.length === 5 ? error.code : undefined;
}

/** Whether a journal statement may simply be sent again: it was rolled back for a passing reason. */
export function isRetriable(error: unknown): boolean {
  return RETRIABLE.has(sqlStateOf(error) ?? '');
}

/** The server answers, and has no database of that name. */
const NO_SUCH_DATABASE = '3D000';

/** The server turned read-only (25006): a failover left us on the old primary, its connections are of no use. */
export function isReadOnly(error: unknown): boolean {
  return sqlStateOf(error) === '25006';
}

/** The pooler in between refuses a start parameter (PgBouncer without `ignore_startup_parameters = options`). */
export function isStartupParameterRefused(error: unknown): boolean {
  return sqlStateOf(error) === '08P01' && /startup parameter/i.test(String((error as Error).message));
}

/** Whether an SQLSTATE says that the session ends, so that the commit may have happened just before. */
export function endsSession(sqlState: string | undefined): boolean {
  return sqlState !== undefined && SESSION_ENDS.test(sqlState);
}

/** Whether the connection can serve another statement: the server answered and did not end the session. */
export function keepsConnection(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state !== undefined && !endsSession(state) && !endsServer(error, state);
}

/** The fault of a connection that could not be had: nothing was sent. */
export function connectFault(statement: string, cause: unknown): ClusterError {
  const message = cause instanceof Error ? cause.message : '';
  if (/after calling end on the pool/.test(message)) return closedFault(statement);
  // All connections are busy: the server may be well.
  if (message === 'timeout exceeded when trying to connect') return storeFault({ statement, cause });
  if (sqlStateOf(cause) === NO_SUCH_DATABASE) {
    const database = /"([^"]+)"/.exec(message)?.[1] ?? 'of DATABASE_URL';
    return databaseMissing({ database, serverCode: NO_SUCH_DATABASE, cause });
  }
  return unreachable(withState({ statement, cause }));
}

/** The fault of a statement that was handed to a connection. `writes`: it may have changed something. */
export function statementFault(failed: {
  readonly statement: string;
  readonly writes: boolean;
  readonly cause: unknown;
}): ClusterError {
  const { statement, writes, cause } = failed;
  const fault = withState({ statement, cause });
  if (keepsConnection(cause)) return storeFault(fault);
  // pg says so before it writes a byte.
  if (cause instanceof Error && /is not queryable$/.test(cause.message)) return unreachable(fault);
  return writes ? unknownOutcome(fault) : unreachable(fault);
}

function endsServer(error: unknown, state: string): boolean {
  // Not `=== 'PANIC'`: the word is in the server's language.
  return MAY_END_SERVER.test(state) && (error as { severity?: unknown }).severity !== 'ERROR';
}

function withState(fault: StatementFault): StatementFault {
  const serverCode = sqlStateOf(fault.cause);
  return serverCode === undefined ? fault : { ...fault, serverCode };
}
