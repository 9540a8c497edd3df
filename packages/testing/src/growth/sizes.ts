import type { Database } from '@a2a-cluster/db';

/** How much a growth database holds. */
export interface GrowthSize {
  /** Tasks that have ended. */
  readonly endedTasks: number;
  /** Events of each of them. */
  readonly eventsPerTask: number;
  /** Turns that run, each with a lease: half of them expired an hour ago, half of them in an hour. */
  readonly leases: number;
}

/** Enough for the planners to prefer an index, and made in seconds. */
export const SMALL_GROWTH: GrowthSize = { endedTasks: 20_000, eventsPerTask: 3, leases: 600 };

/** One call of the code under test, on a grown database. */
export interface GrowthCall {
  readonly name: string;
  run(database: Database): Promise<unknown>;
}
