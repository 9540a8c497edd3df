import { errorText, type ClusterError } from '@a2a-cluster/core';
import { PrismaClientKnownRequestError } from '@prisma/client/runtime/client';
import {
  closedFault,
  storeFault,
  unknownOutcome,
  unreachable,
  type StatementFault,
} from '../errors/faults.js';
import { endsSession } from '../errors/postgresql-faults.js';

/** No connection was to be had: nothing was sent. */
const NOT_SENT = new Set(['P1000', 'P1001', 'P1002', 'P1003', 'P1010', 'P1011']);

/** The connection broke or fell silent. */
const LOST = new Set(['P1008', 'P1017']);

/** Deadlock or write conflict: certainly rolled back. */
const CONFLICT = 'P2034';

/** Prisma tells every failure of a raw statement by one code; what it would have been stands in the adapter's kind. */
const RAW_FAILED = 'P2010';
const CODE_OF_KIND: Readonly<Record<string, string>> = {
  AuthenticationFailed: 'P1000',
  DatabaseNotReachable: 'P1001',
  DatabaseDoesNotExist: 'P1003',
  SocketTimeout: 'P1008',
  DatabaseAccessDenied: 'P1010',
  TlsConnectionError: 'P1011',
  ConnectionClosed: 'P1017',
  TransactionWriteConflict: CONFLICT,
};

const ATTEMPTS = 3;

/** Whether a row with this key was there already, on any of the three databases. */
export function isTaken(error: unknown): boolean {
  return error instanceof PrismaClientKnownRequestError && error.code === 'P2002';
}

/** One query through Prisma. */
export interface PrismaCall<T> {
  /** For logs and errors. */
  readonly name: string;
  readonly writes: boolean;
  run(): PromiseLike<T>;
}

/**
 * Runs one query, not a transaction; deadlocks are retried. Its errors become the project's. A taken key stays
 * Prisma's error, see {@link isTaken}.
 */
export async function guarded<T>(call: PrismaCall<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call.run();
    } catch (cause) {
      if (isTaken(cause)) throw cause;
      const passing = cause instanceof PrismaClientKnownRequestError && codeOf(cause) === CONFLICT;
      if (!passing || attempt === ATTEMPTS) throw faultOf(call, cause);
    }
  }
}

function faultOf(call: Pick<PrismaCall<unknown>, 'name' | 'writes'>, cause: unknown): ClusterError {
  const fault = { statement: call.name, cause, text: lastLineOf(cause) };
  if (cause instanceof PrismaClientKnownRequestError) {
    const code = codeOf(cause);
    const driverCode = adapterCauseOf(cause).originalCode;
    const coded = { ...fault, serverCode: driverCode ?? code };
    if (NOT_SENT.has(code)) return unreachable(coded);
    return LOST.has(code) || endsSession(driverCode) ? lost(call, coded) : storeFault(coded);
  }
  // Prisma's other errors are its own; what has another name came through from the driver, which has no answer.
  if (cause instanceof Error && cause.name.startsWith('PrismaClient')) return storeFault(fault);
  if (/after calling end on the pool|pool is closed|not open/i.test(fault.text))
    return closedFault(call.name);
  return lost(call, fault);
}

function lost(call: Pick<PrismaCall<unknown>, 'writes'>, fault: StatementFault): ClusterError {
  return call.writes ? unknownOutcome(fault) : unreachable(fault);
}

function codeOf(error: PrismaClientKnownRequestError): string {
  if (error.code !== RAW_FAILED) return error.code;
  return CODE_OF_KIND[adapterCauseOf(error).kind ?? ''] ?? error.code;
}

/** The adapter's word for what went wrong, and the server's own code, which Prisma keeps deep inside. */
function adapterCauseOf(error: PrismaClientKnownRequestError): { kind?: string; originalCode?: string } {
  const { meta } = error as { meta?: { driverAdapterError?: { cause?: Record<string, unknown> } } };
  const { kind, originalCode } = meta?.driverAdapterError?.cause ?? {};
  return {
    ...(kind !== undefined && { kind: String(kind) }),
    ...(originalCode !== undefined && { originalCode: String(originalCode) }),
  };
}

/** Prisma's messages begin with a drawing of the calling code; what happened is in the last line. */
function lastLineOf(error: unknown): string {
  return errorText(error).trimEnd().split('\n').at(-1) ?? '';
}
