import { errorText, sleep } from '@a2a-cluster/core';
import type { ReleaseOutcome } from '@a2a-cluster/db';
import type { HeartbeatContext, LeaseCalls } from './lease-calls.js';
import type { LeaseEntry } from './lease-entry.js';

/** The first pause between two tries of a release, doubled from then on. Shorter: an outage meets more calls. */
const FIRST_PAUSE_MS = 50;

/** The longest pause. Longer: the client of the next message waits longer for a lease that nobody uses. */
const LONGEST_PAUSE_MS = 1_000;

/** What {@link releaseRow} needs. */
export interface ReleaseRow {
  readonly context: HeartbeatContext;
  readonly calls: LeaseCalls;
  readonly entry: LeaseEntry;
  /** `clock.monotonicMs()` until which a delete may be sent. */
  readonly deadlineMs: number;
}

/**
 * Deletes the row of an ended lease, again and again until an answer or the deadline. After the deadline the row is
 * the sweeper's: a delete then could leave a task behind that nobody ends; the answer is null. Never rejects.
 */
export async function releaseRow({
  context,
  calls,
  entry,
  deadlineMs,
}: ReleaseRow): Promise<ReleaseOutcome | null> {
  const { clock, logger, signal } = context;
  const remainingMs = (): number => deadlineMs - clock.monotonicMs();
  let last = 'the local deadline had passed';
  for (let attempt = 0; remainingMs() > 0 && !signal.aborted; attempt += 1) {
    try {
      return await calls.release(entry.key);
    } catch (error) {
      last = errorText(error);
    }
    const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(attempt, 10), remainingMs());
    await sleep({ clock, delayMs: Math.max(0, pauseMs), signal });
  }
  logger.warn({ ...entry.key, error: last }, 'lease not released, it is left to the sweeper');
  return null;
}
