import { ClusterError, errorText, type ClusterErrorOptions } from '@a2a-cluster/core';

/** What is known of a statement that did not succeed. */
export interface StatementFault {
  /** Which statement, for logs. */
  readonly statement: string;
  /** The driver's error. */
  readonly cause: unknown;
  /** The server's own code, such as an SQLSTATE, if it answered. */
  readonly serverCode?: string;
  /** What happened, in place of the cause's own message. */
  readonly text?: string;
}

function optionsOf(fault: StatementFault): ClusterErrorOptions {
  const { statement, cause, serverCode } = fault;
  return { cause, details: serverCode === undefined ? { statement } : { statement, serverCode } };
}

function textOf({ text, cause }: StatementFault): string {
  return text ?? errorText(cause);
}

/** The write was sent, no answer came: it may have been stored (protocol 3.6). */
export function unknownOutcome(fault: StatementFault): ClusterError {
  const text = `${fault.statement} may or may not have been stored: ${textOf(fault)}`;
  return new ClusterError('UNKNOWN_OUTCOME', text, optionsOf(fault));
}

/** The server answered with an error, or the statement was never sent; nothing was stored. */
export function storeFault(fault: StatementFault): ClusterError {
  const text = `${fault.statement} failed: ${textOf(fault)}`;
  return new ClusterError('STORE_FAULT', text, optionsOf(fault));
}

/** There is no connection to be had, or it broke while reading; nothing was stored. */
export function unreachable(fault: StatementFault): ClusterError {
  const text = `the database does not answer (${fault.statement}): ${textOf(fault)}`;
  return new ClusterError('DATABASE_UNREACHABLE', text, optionsOf(fault));
}

/** The database was closed by this process. */
export function closedFault(statement: string): ClusterError {
  return new ClusterError('CLOSED', `${statement}: the database has been closed`);
}

/** How a database that is not there comes to be; the end of every message that says so. */
export const DEPLOY_HINT = 'make it, and its tables, with `DATABASE_URL=... npx prisma migrate deploy`';

/** The fault of a server that answers and does not have the database of the URL. */
export function databaseMissing(missing: {
  readonly database: string;
  readonly serverCode: string;
  readonly cause: unknown;
}): ClusterError {
  const { database, serverCode, cause } = missing;
  const message = `the database \`${database}\` does not exist on its server: ${DEPLOY_HINT}`;
  return new ClusterError('DATABASE_UNREACHABLE', message, { cause, details: { serverCode } });
}
