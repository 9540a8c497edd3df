import { sleep, type Telemetry } from '@a2a-cluster/core';
import type { HeartbeatContext, LeaseCalls } from './lease-calls.js';
import type { LeaseEntry } from './lease-entry.js';
import type { LeaseSet } from './lease-set.js';

/** The longest wait for one row lock. Longer: a row locked for good keeps the others waiting for their turn. */
const LOCK_WAIT_MS = 200;

/** The first pause between two tries, doubled from then on. Shorter: a row that is locked for long costs more calls. */
const FIRST_PAUSE_MS = 50;

/** The longest pause between two tries. Longer: a lock that goes away is noticed late. */
const LONGEST_PAUSE_MS = 1_000;

/** The shortest pause, when little time remains. Shorter: a busy loop in the last moments of a lease. */
const SHORTEST_PAUSE_MS = 10;

/** A third of what remains leaves room for two more tries. */
const SHARE_OF_REST = 3;

/** What {@link createRecovery} is made of. */
export interface RecoveryOptions extends HeartbeatContext {
  readonly set: LeaseSet;
  readonly calls: LeaseCalls;
  readonly telemetry: Telemetry;
}

/** Renewals of single leases that a beat could not renew (protocol 5, "unknown"). */
export interface Recovery {
  /** Looks these leases up at once; gives how many are lost, and keeps trying to renew the others. */
  lookUp(entries: readonly LeaseEntry[]): Promise<number>;
  /** Tries to renew one until it is renewed by whatever way, lost or ended. Does nothing if that is under way. */
  start(entry: LeaseEntry): void;
  /** One renewal now; on "no", the row tells why. */
  renewOnce(entry: LeaseEntry): Promise<'renewed' | 'lost' | 'unknown'>;
  /** Resolves when nothing is under way any more; to be called after the signal has aborted. */
  settled(): Promise<void>;
}

/** Makes the recovery of one heartbeat. */
export function createRecovery(options: RecoveryOptions): Recovery {
  const { holder, clock, signal, set, calls, telemetry } = options;
  const running = new Set<Promise<void>>();
  // One at a time, so that of the two connections for leases one stays free for the beat.
  let lane: Promise<unknown> = Promise.resolve();

  async function renewOnce(entry: LeaseEntry): Promise<'renewed' | 'lost' | 'unknown'> {
    set.loseOverdue();
    if (!entry.open) return 'lost';
    const sentAtMs = clock.monotonicMs();
    const waitMs = Math.max(1, Math.floor(Math.min(LOCK_WAIT_MS, set.remainingMs(entry) / SHARE_OF_REST)));
    try {
      const answer = await calls.beatOne(entry.key, waitMs);
      if (answer !== null) {
        if (!set.renewed(entry, { sentAtMs, answer })) return 'lost';
        telemetry.count('leases_renewed_total');
        return 'renewed';
      }
      const mark = entry.mark();
      const rows = await calls.read([entry.key.taskId]);
      set.loseOverdue();
      return set.settle(entry, { holder, row: rows.get(entry.key.taskId), mark });
    } catch {
      set.loseOverdue();
      return entry.open ? 'unknown' : 'lost';
    }
  }

  async function recover(entry: LeaseEntry): Promise<void> {
    const before = entry.sentAtMs;
    const needed = (): boolean =>
      entry.open && entry.sentAtMs === before && !entry.askAgain && !signal.aborted;
    for (let attempt = 0; needed(); attempt += 1) {
      const turn = lane.then(() => (needed() ? renewOnce(entry) : undefined));
      lane = turn.catch(() => {});
      await turn;
      if (needed()) await sleep({ clock, delayMs: pauseMs(attempt, set.remainingMs(entry)), signal });
    }
    // Here, not when the promise has settled: a start in between would be swallowed.
    entry.recovering = false;
  }

  function start(entry: LeaseEntry): void {
    if (entry.recovering || !entry.open || signal.aborted) return;
    entry.recovering = true;
    const run = recover(entry).finally(() => running.delete(run));
    running.add(run);
  }

  return {
    async lookUp(entries) {
      if (entries.length === 0) return 0;
      const marks = entries.map((entry) => entry.mark());
      try {
        const rows = await calls.read(entries.map((entry) => entry.key.taskId));
        set.loseOverdue();
        entries.forEach((entry, at) =>
          set.settle(entry, { holder, row: rows.get(entry.key.taskId), mark: marks[at] ?? -1 }),
        );
      } catch {
        set.loseOverdue();
      }
      entries.forEach(start);
      return entries.filter((entry) => !entry.open).length;
    },
    start,
    renewOnce,
    settled: async () => void (await Promise.all(running)),
  };
}

function pauseMs(attempt: number, remainingMs: number): number {
  const backoffMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(attempt, 10));
  return Math.max(SHORTEST_PAUSE_MS, Math.min(backoffMs, remainingMs / SHARE_OF_REST));
}
