import { errorText } from '@a2a-cluster/core';
import { PrismaClientKnownRequestError } from '@prisma/client/runtime/client';
import { storeFault, unknownOutcome, unreachable } from '../errors/faults.js';

/** Codes of "no connection, or it broke": what a write did is not known then. */
const CONNECTION = new Set(['P1001', 'P1002', 'P1008', 'P1011', 'P1017']);

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

/** Runs a query; its errors become the project's. A taken key stays Prisma's error, see {@link isTaken}. */
export async function guarded<T>(call: PrismaCall<T>): Promise<T> {
  try {
    return await call.run();
  } catch (cause) {
    if (isTaken(cause)) throw cause;
    const fault = { statement: call.name, cause, text: lastLineOf(cause) };
    if (!(cause instanceof PrismaClientKnownRequestError)) throw storeFault(fault);
    const coded = { ...fault, serverCode: cause.code };
    if (!CONNECTION.has(cause.code)) throw storeFault(coded);
    throw call.writes && cause.code !== 'P1001' ? unknownOutcome(coded) : unreachable(coded);
  }
}

/** Prisma's messages begin with a drawing of the calling code; what happened is in the last line. */
function lastLineOf(error: unknown): string {
  return errorText(error).trimEnd().split('\n').at(-1) ?? '';
}
