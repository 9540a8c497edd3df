import { ClusterError } from '@a2a-cluster/core';
import type { TurnHandle } from './turn-context.js';
import type { TurnLease } from './turn-lease.js';
import type { TurnWriter } from './turn-writer.js';

/** Makes what an executor sees of its turn; reads the live turn at every access. */
export function createTurnHandle(turn: {
  readonly taskId: string;
  readonly lease: TurnLease;
  readonly writer: TurnWriter;
  readonly signal: AbortSignal;
}): TurnHandle {
  const { taskId, lease, writer, signal } = turn;
  return {
    signal,
    held: lease.whenHeld,
    attempt: 1,
    get epoch() {
      return lease.epoch;
    },
    get remainingMs() {
      return lease.remainingMs();
    },
    assertHeld() {
      if (!lease.isHeld())
        throw new ClusterError('LEASE_LOST', `this replica may not act for task ${taskId}`);
    },
    drained: () => writer.drained(),
  };
}
