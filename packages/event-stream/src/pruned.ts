import { ClusterError, isClusterError } from '@a2a-cluster/core';

/** The rows after a tail's cursor are no longer in the log, and will not come back (protocol 7). */
export function prunedFault(at: { readonly taskId: string; readonly seq: number }): ClusterError {
  return new ClusterError('STORE_FAULT', `event ${at.seq} is no longer in the log`, {
    details: { ...at, retriable: true, reason: 'pruned' },
  });
}

/**
 * Whether a tail ended because its next rows were pruned: only the whole task can tell its consumer what they said.
 * Not so where the task is gone altogether; the tail then ends with `gone`.
 */
export function isPruned(error: unknown): boolean {
  return isClusterError(error, 'STORE_FAULT') && error.details['reason'] === 'pruned';
}
