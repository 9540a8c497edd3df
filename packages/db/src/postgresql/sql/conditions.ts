import { TERMINAL_STATE_NAMES } from '@a2a-cluster/core';

/** The terminal states as an SQL list. Constants of ours, so no parameters: the plan can use them. */
export const TERMINAL_LIST = TERMINAL_STATE_NAMES.map((name) => `'${name}'`).join(', ');

/** Milliseconds from now until `column`, as a number: 0 or less is over. The clock is read when the row is. */
export function remainingMs(column: string): string {
  return `(extract(epoch FROM ${column} - clock_timestamp()) * 1000)::float8`;
}

/** Milliseconds since `column`, as a number, never below 0 (the column is rounded, maybe up); null stays null. */
export function ageMs(column: string): string {
  return `CASE WHEN ${column} IS NOT NULL
    THEN greatest(0, (extract(epoch FROM clock_timestamp() - ${column}) * 1000)::float8) END`;
}
