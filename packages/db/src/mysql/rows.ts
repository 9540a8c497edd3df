import { ClusterError, type EventKind, type EventRow } from '@a2a-cluster/core';
import type { Look } from '../statements/journal-statements.js';

/** A row as the driver gives it. */
export type Row = Readonly<Record<string, unknown>>;

/** The rows of one statement's answer; none for statements that give no rows. */
export function rowsOf(answer: unknown): readonly Row[] {
  return Array.isArray(answer) ? (answer as Row[]) : [];
}

/** How many rows a write matched, changed or not. */
export function matchedRows(answer: unknown): number {
  if (typeof answer !== 'object' || answer === null || !('affectedRows' in answer)) return 0;
  return Number(answer.affectedRows);
}

/** @throws `ClusterError` `ROW_CORRUPT` when the column is not text. */
export function textAt(row: Row, column: string): string {
  const value = row[column];
  if (typeof value === 'string') return value;
  throw new ClusterError('ROW_CORRUPT', `column ${column} holds no text`);
}

/** @throws `ClusterError` `ROW_CORRUPT` when the column is neither text nor NULL. */
export function textOrNullAt(row: Row, column: string): string | null {
  return row[column] === null ? null : textAt(row, column);
}

/** @throws `ClusterError` `ROW_CORRUPT` when the column is no number. */
export function numberAt(row: Row, column: string): number {
  const value = row[column];
  if (typeof value === 'number') return value;
  throw new ClusterError('ROW_CORRUPT', `column ${column} holds no number`);
}

/** Microseconds of a column as milliseconds, or null. */
export function msOrNullAt(row: Row, column: string): number | null {
  return row[column] === null ? null : numberAt(row, column) / 1_000;
}

/** Columns `holder, epoch, pending, remaining_us, cancel_us` of a lease that a LEFT JOIN may have missed. */
export function leaseOf(row: Row): Look['lease'] {
  if (row['holder'] === null) return null;
  return {
    holder: textAt(row, 'holder'),
    epoch: numberAt(row, 'epoch'),
    pending: numberAt(row, 'pending') !== 0,
    remainingMs: numberAt(row, 'remaining_us') / 1_000,
    cancelAgeMs: msOrNullAt(row, 'cancel_us'),
  };
}

/** Columns of an event. The kind is passed on as stored: reading it is the decoder's affair. */
export function eventOf(row: Row): EventRow {
  return {
    taskId: textAt(row, 'task_id'),
    seq: numberAt(row, 'seq'),
    kind: textAt(row, 'kind') as EventKind,
    payload: textAt(row, 'payload'),
    messageId: textOrNullAt(row, 'message_id'),
    holder: textAt(row, 'holder'),
    epoch: numberAt(row, 'epoch'),
  };
}

/** Microseconds until the lease `l` expires, by the clock after any waiting. */
export const REMAINING_US = 'TIMESTAMPDIFF(MICROSECOND, SYSDATE(6), l.expires_at)';
/** Microseconds since a cancel was asked for on the lease `l`, or NULL. */
export const CANCEL_US = 'TIMESTAMPDIFF(MICROSECOND, l.cancel_requested_at, SYSDATE(6))';
