import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '@a2a-cluster/core';

/**
 * How long one try may stop the event loop inside SQLite's own busy handler. Long enough that a lock held for an
 * ordinary commit is got at the first try, short enough that timers and sockets of this process are served.
 */
export const BLOCK_MS = 15;

/** The same for the tries after the first: the lock is held for longer, so the event loop comes first. */
export const RETRY_BLOCK_MS = 4;

/**
 * SQLite's result code of an error of the driver, such as `SQLITE_BUSY`; undefined for other errors. Judged by its
 * shape: the driver's native part makes errors of the context that loaded it first, which `instanceof` denies.
 */
export function sqliteCodeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  if (!('code' in error) || typeof error.code !== 'string') return undefined;
  return error.code.startsWith('SQLITE_') ? error.code : undefined;
}

/** Another connection holds the lock this one needs. */
export function isBusyCode(code: string | undefined): boolean {
  return code !== undefined && /^SQLITE_(BUSY|LOCKED)/.test(code);
}

/** Until when a call may try, and by which clock. */
export interface Deadline {
  readonly clock: Clock;
  /** In milliseconds of the clock's monotonic time. */
  readonly atMs: number;
}

/** Whether a deadline has passed. */
export function isPast(deadline: Deadline): boolean {
  return deadline.clock.monotonicMs() >= deadline.atMs;
}

/**
 * A short random pause between two tries, in which the event loop runs. Not by the clock, whose timers let the process
 * end: a script that waits for nothing but the lock must wait for it.
 */
export async function pause(): Promise<void> {
  await sleep(1 + Math.random() * 7);
}
