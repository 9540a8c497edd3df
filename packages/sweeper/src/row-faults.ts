import { isClusterError } from '@a2a-cluster/core';

/** Whether an error may be the fault of one row, and not of the way to the database. */
export function mayBeOneRow(error: unknown): boolean {
  return !(
    isClusterError(error, 'DATABASE_UNREACHABLE') ||
    isClusterError(error, 'UNKNOWN_OUTCOME') ||
    isClusterError(error, 'CLOSED')
  );
}
