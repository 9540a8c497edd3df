import { withFields, type Clock, type Logger, type Telemetry, type Timer } from '@a2a-cluster/core';
import type { Renewed } from '@a2a-cluster/db';
import type { LostCause } from './heartbeat.js';
import type { AnswerMark, LeaseEntry } from './lease-entry.js';
import { callSafely } from './safe-callback.js';

/** A deadline that is noticed so much later was not missed by a slow database. Less: a busy machine is blamed. */
const LATE_MS = 250;

const STOOD_STILL = 'the process stood still or its event loop was blocked';

/** What a {@link LeaseSet} is made of. */
export interface LeaseSetOptions {
  /** TTL - margin: how long trust lasts from when a renewal was sent. */
  readonly trustMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
}

/** The row of a lease as a reader saw it, or undefined when there is none. */
export interface SeenRow {
  readonly taskId: string;
  readonly holder: string;
  readonly epoch: number;
}

/**
 * The leases a replica holds, and the one place where one of them is judged. A timer stands at the earliest local
 * deadline, so a lease is lost there even when every call hangs.
 */
export class LeaseSet {
  readonly #entries = new Set<LeaseEntry>();
  readonly #options: LeaseSetOptions;
  #timer: { readonly atMs: number; readonly timer: Timer } | null = null;
  #closed = false;

  constructor(options: LeaseSetOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  add(entry: LeaseEntry): void {
    if (this.#closed) return;
    this.#entries.add(entry);
    this.#watch(this.#deadline(entry));
  }

  /** The entries that may still be renewed; the overdue ones are lost first. */
  live(): LeaseEntry[] {
    this.loseOverdue();
    return [...this.#entries];
  }

  /** Milliseconds to the local deadline, 0 when it has passed or the lease is lost or ended. */
  remainingMs(entry: LeaseEntry): number {
    return entry.open ? Math.max(0, this.#deadline(entry) - this.#options.clock.monotonicMs()) : 0;
  }

  /** Milliseconds to the earliest local deadline; the whole trust when nothing is held. */
  earliestMs(): number {
    const nowMs = this.#options.clock.monotonicMs();
    let least = this.#options.trustMs;
    for (const entry of this.#entries) least = Math.min(least, this.#deadline(entry) - nowMs);
    return Math.max(0, least);
  }

  /** Judges every deadline by the time it is now. To be called before any answer is believed (protocol 2). */
  loseOverdue(): void {
    // One reading for all: ten thousand of them would cost more than the beat's own work.
    const nowMs = this.#options.clock.monotonicMs();
    const overdue = [...this.#entries].filter((entry) => this.#deadline(entry) <= nowMs);
    for (const entry of overdue) this.loseIfOverdue(entry);
  }

  /** The same for one entry; nothing for one that is lost, released or ended already. */
  loseIfOverdue(entry: LeaseEntry): void {
    if (entry.open && this.remainingMs(entry) <= 0) this.lose(entry, 'deadline');
  }

  /** Takes a renewal into account; false: it came too late. An answer after the old deadline is a loss, though it says "renewed". */
  renewed(entry: LeaseEntry, renewal: { readonly sentAtMs: number; readonly answer: Renewed }): boolean {
    if (!entry.open) return false;
    if (this.remainingMs(entry) <= 0) {
      this.lose(entry, 'deadline');
      return false;
    }
    entry.renewedFrom(renewal.sentAtMs);
    const { cancelAgeMs } = renewal.answer;
    if (cancelAgeMs !== null && entry.tellCancel())
      callSafely(this.#options.logger, () => entry.hold.onCancelRequested(cancelAgeMs));
    return true;
  }

  /** Judges a lease by its row, read after the mark was taken. `unknown`: ours, or the row says nothing now. */
  settle(
    entry: LeaseEntry,
    seen: { readonly holder: string; readonly row: SeenRow | undefined; readonly mark: AnswerMark },
  ): 'lost' | 'unknown' {
    if (!entry.open) return 'lost';
    const { holder, row, mark } = seen;
    if (row?.holder === holder && row.epoch === entry.key.epoch) return 'unknown';
    if (!entry.counts(mark)) {
      entry.askAgain = entry.ending;
      return 'unknown';
    }
    this.lose(entry, row === undefined ? 'gone' : 'taken');
    return 'lost';
  }

  lose(entry: LeaseEntry, cause: LostCause): void {
    if (!entry.close('lost')) return;
    this.#entries.delete(entry);
    if (this.#closed) return;
    this.#options.telemetry.count('leases_lost_total', { cause });
    const logger = withFields(this.#options.logger, { ...entry.key });
    logger.warn({ cause, ...(cause === 'deadline' ? this.#lateness(entry) : {}) }, 'lease lost');
    callSafely(logger, () => entry.hold.onLost(cause));
  }

  /** A loss that its holder knows of already. */
  noteLost(entry: LeaseEntry, cause: LostCause): void {
    if (!entry.close('lost')) return;
    this.#entries.delete(entry);
    if (!this.#closed) this.#options.telemetry.count('leases_lost_total', { cause });
  }

  end(entry: LeaseEntry): boolean {
    this.#entries.delete(entry);
    return entry.close('ended');
  }

  /** Stops keeping it while its row is being deleted. */
  release(entry: LeaseEntry): boolean {
    this.#entries.delete(entry);
    return entry.close('releasing');
  }

  /** Keeps it again: the row was not deleted. Its deadline went on counting and may have passed. */
  reopen(entry: LeaseEntry): void {
    if (entry.reopen()) this.add(entry);
  }

  /** No timer and no loss after this; what was handed out goes on counting down. */
  close(): void {
    this.#closed = true;
    this.#timer?.timer.cancel();
    this.#timer = null;
    this.#entries.clear();
  }

  /** A timer stands at the deadline, so a loss that is noticed long after it has a cause that operators must hear. */
  #lateness(entry: LeaseEntry): { readonly lateMs?: number; readonly why?: string } {
    const lateMs = Math.round(this.#options.clock.monotonicMs() - this.#deadline(entry));
    return lateMs < LATE_MS ? {} : { lateMs, why: STOOD_STILL };
  }

  #deadline(entry: LeaseEntry): number {
    return entry.sentAtMs + this.#options.trustMs;
  }

  /** A timer that stands earlier is left: it looks again when it fires, which is cheaper than moving it each beat. */
  #watch(atMs: number): void {
    if (this.#timer !== null && this.#timer.atMs <= atMs) return;
    this.#timer?.timer.cancel();
    const { clock } = this.#options;
    const timer = clock.setTimer(atMs - clock.monotonicMs(), () => {
      this.#timer = null;
      this.loseOverdue();
      if (this.#entries.size > 0 && !this.#closed) this.#watch(clock.monotonicMs() + this.earliestMs());
    });
    this.#timer = { atMs, timer };
  }
}
