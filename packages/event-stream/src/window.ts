import type { EventRow } from '@a2a-cluster/core';
import { Entry } from './entry.js';

/** Bounds of a {@link Window}. A single row over `maxBytes` is held alone. */
export interface WindowLimits {
  readonly maxBytes: number;
  readonly maxEvents: number;
}

/** What became of rows that were offered: all held (or known already), no room, or not the next ones. */
export type Appended = 'held' | 'full' | 'gap';

/**
 * The latest rows of one task's log, in order and without a gap, shared by all its tails: a tail is only a cursor
 * into it. Bounded; what falls out is read from the log again by those that still need it.
 */
export class Window {
  readonly #limits: WindowLimits;
  #entries: Entry[] = [];
  #start = 0;
  #bytes = 0;

  constructor(limits: WindowLimits) {
    this.#limits = limits;
  }

  /** The seq before the first row held. */
  get start(): number {
    return this.#start;
  }

  /** The seq of the last row held; `start` when there is none. */
  get end(): number {
    return this.#start + this.#entries.length;
  }

  /** The row of that seq, if it is held. */
  at(seq: number): Entry | undefined {
    return this.#entries[seq - this.#start - 1];
  }

  /** Empties the window and moves it behind `seq`. */
  reset(seq: number): void {
    this.#entries = [];
    this.#bytes = 0;
    this.#start = seq;
  }

  /** Forgets the rows up to `seq`. */
  dropTo(seq: number): void {
    const count = Math.min(Math.max(seq - this.#start, 0), this.#entries.length);
    if (count === 0) return;
    for (const entry of this.#entries.splice(0, count)) this.#bytes -= entry.bytes;
    this.#start += count;
  }

  /**
   * Holds the rows that follow `end`; rows at or below it are passed over. Makes room by forgetting rows up to
   * `evictTo`, which somebody has consumed, and stops rather than forget a row nobody has.
   */
  append(rows: readonly EventRow[], evictTo: number): Appended {
    for (const row of rows) {
      if (row.seq <= this.end) continue;
      if (row.seq > this.end + 1) return 'gap';
      const entry = new Entry(row);
      this.#makeRoom(entry.bytes, evictTo);
      if (!this.#fits(entry.bytes)) return 'full';
      this.#entries.push(entry);
      this.#bytes += entry.bytes;
    }
    return 'held';
  }

  #fits(bytes: number): boolean {
    const { maxBytes, maxEvents } = this.#limits;
    if (this.#entries.length === 0) return true;
    return this.#entries.length < maxEvents && this.#bytes + bytes <= maxBytes;
  }

  #makeRoom(bytes: number, evictTo: number): void {
    while (!this.#fits(bytes) && this.#start < evictTo) this.dropTo(this.#start + 1);
  }
}
