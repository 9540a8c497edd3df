import { encodeEvent, failedStatus, type NewEvent } from '@a2a-cluster/core';

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
export function sweptEvent(turn: DeadTurn, batch: SweepText): NewEvent {
  return lostEvent({ ...turn, detail: { expiredAt: new Date(turn.expiredAtMs).toISOString() } }, batch);
}

/** What a sweep says to people, and when. */
export interface SweepText {
  /** ISO 8601, for the FAILED status. */
  readonly statusTimestamp: string;
  /** The sentence for people in the FAILED status. */
  readonly text: string;
}

/** The FAILED event of a turn whose replica is lost; `detail` says how that was known. */
export function lostEvent(
  turn: Pick<DeadTurn, 'taskId' | 'contextId' | 'epoch'> & {
    readonly detail: Readonly<Record<string, string>>;
  },
  batch: SweepText,
): NewEvent {
  const { taskId, contextId, epoch, detail } = turn;
  const writeId = `sweep:${taskId}:${epoch}`;
  const data = failedStatus({
    ...{ taskId, contextId, detail },
    reason: 'replica_lost',
    timestamp: batch.statusTimestamp,
    messageId: writeId,
    text: batch.text,
  });
  return { kind: 'statusUpdate', payload: encodeEvent({ kind: 'statusUpdate', data }), writeId };
}
