import type { Clock } from '@a2a-cluster/core';
import type { Database } from '@a2a-cluster/db';

/** More than this and people who compare logs with rows are misled. */
const MOST_SKEW_MS = 2_000;

/**
 * A warning where the clocks of the database and of this process differ, or null. Nothing of the protocol compares
 * them (protocol 2): it is for people who read logs beside rows, and a sign that one of the two is not kept in time.
 * One round trip; what it takes counts as not known.
 */
export async function clockWarning(
  database: Pick<Database, 'leases'>,
  clock: Pick<Clock, 'wallIso'>,
): Promise<string | null> {
  const beforeMs = Date.parse(clock.wallIso());
  const { nowMs } = await database.leases.readClock();
  return judgeSkew({ databaseMs: nowMs, beforeMs, afterMs: Date.parse(clock.wallIso()) });
}

/** Pure: what three readings come to, all in milliseconds since 1970. */
export function judgeSkew(readings: {
  readonly databaseMs: number;
  readonly beforeMs: number;
  readonly afterMs: number;
}): string | null {
  const { databaseMs, beforeMs, afterMs } = readings;
  // Between the readings it may have been any time in between.
  const skewMs = databaseMs < beforeMs ? databaseMs - beforeMs : Math.max(0, databaseMs - afterMs);
  if (Math.abs(skewMs) <= MOST_SKEW_MS) return null;
  const side = skewMs > 0 ? 'ahead of' : 'behind';
  return `the database's clock is ${Math.abs(Math.round(skewMs))} ms ${side} this machine's: leases go by the database's alone, but times in logs and in rows do not agree. Keep both in time (NTP)`;
}
