import { encodeEvent, failedStatus, type NewEvent } from '@a2a-cluster/core';
import type { SweepBatch } from './journal-statements.js';

/** The dead turn a sweep ends. */
export interface DeadTurn {
  readonly taskId: string;
  readonly contextId: string;
  readonly epoch: number;
  /** When its lease expired, in milliseconds since 1970 by the database's clock. */
  readonly expiredAtMs: number;
}

/**
 * The FAILED event of a turn that a sweep ends (protocol 6). Its ids follow from task and epoch, so whoever makes it
 * makes the same. Names no replica: holder and sweeper are for columns and logs.
 */
export function sweptEvent(turn: DeadTurn, batch: Pick<SweepBatch, 'statusTimestamp' | 'text'>): NewEvent {
  const { taskId, contextId, epoch, expiredAtMs } = turn;
  const writeId = `sweep:${taskId}:${epoch}`;
  const data = failedStatus({
    taskId,
    contextId,
    reason: 'replica_lost',
    timestamp: batch.statusTimestamp,
    messageId: writeId,
    text: batch.text,
    detail: { expiredAt: new Date(expiredAtMs).toISOString() },
  });
  return { kind: 'statusUpdate', payload: encodeEvent({ kind: 'statusUpdate', data }), writeId };
}
