import type { LeaseKey } from '@a2a-cluster/core';
import type { HoldLease } from './heartbeat.js';

/** A moment of a lease, noted when a question about it is sent, so that the answer can be judged. */
export type AnswerMark = number;

/** What the heartbeat knows of one lease. Pure bookkeeping: no clock, no calls. */
export class LeaseEntry {
  readonly key: LeaseKey;
  readonly hold: HoldLease;
  /** A missing row was overlooked because an ending commit is in flight: not asked again until that is over. */
  askAgain = false;
  /** Single renewals of this lease are under way. */
  recovering = false;
  #sentAtMs: number;
  #state: 'held' | 'releasing' | 'lost' | 'ended' = 'held';
  #ending = false;
  #endingChanges = 0;
  #cancelTold = false;

  constructor(hold: HoldLease) {
    this.key = { taskId: hold.lease.taskId, epoch: hold.lease.epoch };
    this.hold = hold;
    this.#sentAtMs = hold.sentAtMs;
  }

  /** Neither lost nor ended, nor being released. */
  get open(): boolean {
    return this.#state === 'held';
  }

  /** When the renewal that trust counts from was sent. */
  get sentAtMs(): number {
    return this.#sentAtMs;
  }

  /** Trust counts from when a renewal was sent, so a slow success does not lengthen it; it never goes back. */
  renewedFrom(sentAtMs: number): void {
    this.#sentAtMs = Math.max(this.#sentAtMs, sentAtMs);
  }

  /** False when it was lost or ended before. One that is being released is not lost any more, but may be ended. */
  close(state: 'releasing' | 'lost' | 'ended'): boolean {
    const closes = this.open || (this.#state === 'releasing' && state === 'ended');
    if (closes) this.#state = state;
    return closes;
  }

  /** Takes a release back; false when the lease was ended meanwhile. */
  reopen(): boolean {
    if (this.#state !== 'releasing') return false;
    this.#state = 'held';
    return true;
  }

  get ending(): boolean {
    return this.#ending;
  }

  setEnding(active: boolean): void {
    if (this.#ending === active) return;
    this.#ending = active;
    this.#endingChanges += 1;
  }

  /** To be taken when a question about the row is sent. */
  mark(): AnswerMark {
    return this.#endingChanges;
  }

  /** Whether a missing row in the answer means anything: no ending commit was in flight since the mark. */
  counts(mark: AnswerMark): boolean {
    return !this.#ending && mark === this.#endingChanges;
  }

  /** True the first time only. */
  tellCancel(): boolean {
    const first = !this.#cancelTold;
    this.#cancelTold = true;
    return first;
  }
}
