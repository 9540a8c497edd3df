import type { Database } from '@a2a-cluster/db';
import { nowMs } from '../harness/time.js';

/** What was called since the last time it was asked for. */
export interface Calls {
  /** Before the call that gave the first claims; null: none did. */
  readonly firstClaimMs: number | null;
  readonly calls: ReadonlyMap<string, number>;
}

/** Counts the calls of push delivery, whatever the database. */
export function watchCalls(database: Database): { readonly database: Database; take(): Calls } {
  const { log, pushQueue } = database;
  let calls = new Map<string, number>();
  let firstClaimMs: number | null = null;
  const counted = <Given extends unknown[], Answer>(
    name: string,
    call: (...given: Given) => Promise<Answer>,
  ): ((...given: Given) => Promise<Answer>) => {
    return (...given) => {
      calls.set(name, (calls.get(name) ?? 0) + 1);
      return call(...given);
    };
  };
  const claimDue = counted('claimDue', pushQueue.claimDue);
  return {
    database: {
      ...database,
      log: {
        ...log,
        readEvents: counted('readEvents', log.readEvents),
        readEventsOf: counted('readEventsOf', log.readEventsOf),
      },
      pushQueue: {
        ...pushQueue,
        claimOf: counted('claimOf', pushQueue.claimOf),
        settle: counted('settle', pushQueue.settle),
        claimDue: async (claim) => {
          const sentMs = nowMs();
          const due = await claimDue(claim);
          if (due.claimed.length > 0) firstClaimMs = Math.min(firstClaimMs ?? sentMs, sentMs);
          return due;
        },
      },
    },
    take: () => {
      const taken = { firstClaimMs, calls };
      calls = new Map();
      firstClaimMs = null;
      return taken;
    },
  };
}
