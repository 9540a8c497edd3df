import { ClusterError } from '@a2a-cluster/core';
import type { SqlRow } from './session.js';

/** The database's clock: whole milliseconds since 1970, as every moment is stored (prisma/README.md). */
export const NOW = `CAST(unixepoch('subsec') * 1000 AS INTEGER)`;

/** A list of ids as one parameter, so that a statement is prepared once for every length. */
export function idList(ids: readonly string[]): string {
  return JSON.stringify(ids);
}

/** A text column that is never null. */
export function textAt(row: SqlRow, column: string): string {
  const value = row[column];
  if (typeof value === 'string') return value;
  throw corrupt(column, value);
}

/** A number column that is never null. */
export function numberAt(row: SqlRow, column: string): number {
  const value = row[column];
  if (typeof value === 'number') return value;
  throw corrupt(column, value);
}

/** A text column that may be null. */
export function textOrNull(row: SqlRow, column: string): string | null {
  return row[column] === null ? null : textAt(row, column);
}

/** A number column that may be null. */
export function numberOrNull(row: SqlRow, column: string): number | null {
  return row[column] === null ? null : numberAt(row, column);
}

function corrupt(column: string, value: unknown): ClusterError {
  return new ClusterError('ROW_CORRUPT', `column ${column} holds a ${typeof value}`);
}
