import { keyOf, type LiveClaim } from './live-claim.js';
import type { Slots } from './slots.js';

/** Claims for each slot, so that one that comes free finds the next at hand. More would be kept from other replicas. */
const AHEAD = 2;

/** More are brought when there are fewer for each slot: before none waits, since the statements take their time. */
const LOW = 1.5;

/**
 * The claims of this replica: per task, for what is committed here; per origin, so that one webhook's backlog does
 * not take the place of others; and in line for a slot, origins in turn.
 */
export class ClaimBook {
  private readonly claims = new Map<string, LiveClaim>();
  private readonly tasks = new Map<string, Set<LiveClaim>>();
  private readonly origins = new Map<string, number>();
  /** Claims that have something to send, by origin; the origin that was served last stands last. */
  private readonly line = new Map<string, LiveClaim[]>();

  constructor(
    private readonly slots: Slots,
    private readonly concurrency: number,
  ) {}

  get size(): number {
    return this.claims.size;
  }

  /** How many more claims there is room for. */
  get room(): number {
    return Math.max(0, AHEAD * this.concurrency - this.claims.size);
  }

  /** Whether this origin has as many claims here as it can use soon. */
  isFull(origin: string): boolean {
    const limit = this.slots.isSuspect(origin) ? 1 : AHEAD * this.slots.limitOf(origin);
    return (this.origins.get(origin) ?? 0) >= limit;
  }

  /** Whether it is time to bring more claims, many at once, for this origin or whoever takes its place. */
  isLow(origin: string): boolean {
    return (
      this.claims.size <= LOW * this.concurrency &&
      (this.origins.get(origin) ?? 0) <= LOW * this.slots.limitOf(origin)
    );
  }

  /** Origins that no claims are wanted of now. */
  fullOrigins(): readonly string[] {
    return [...this.origins.keys()].filter((origin) => this.isFull(origin));
  }

  private add(claim: LiveClaim): void {
    const { taskId, origin } = claim.push;
    this.claims.set(keyOf(claim.push), claim);
    this.origins.set(origin, (this.origins.get(origin) ?? 0) + 1);
    const ofTask = this.tasks.get(taskId) ?? new Set();
    this.tasks.set(taskId, ofTask.add(claim));
  }

  /** Adds a claim; an earlier one of the same config, which has run out then, is over. */
  replace(claim: LiveClaim): void {
    const before = this.claims.get(keyOf(claim.push));
    if (before !== undefined) {
      before.ended = true;
      this.remove(before);
    }
    this.add(claim);
  }

  /** Idempotent. */
  remove(claim: LiveClaim): void {
    const key = keyOf(claim.push);
    if (this.claims.get(key) !== claim) return;
    const { taskId, origin } = claim.push;
    this.claims.delete(key);
    const left = (this.origins.get(origin) ?? 1) - 1;
    if (left === 0) this.origins.delete(origin);
    else this.origins.set(origin, left);
    const ofTask = this.tasks.get(taskId);
    ofTask?.delete(claim);
    if (ofTask?.size === 0) this.tasks.delete(taskId);
  }

  ofTask(taskId: string): readonly LiveClaim[] {
    return [...(this.tasks.get(taskId) ?? [])];
  }

  all(): readonly LiveClaim[] {
    return [...this.claims.values()];
  }

  /**
   * Puts a claim that has something to send in line. `goesOn`: before others of its origin. So claims end one after
   * another, and new ones come while others are under way, where turns would let all end at the same time.
   */
  enqueue(claim: LiveClaim, goesOn = false): void {
    const { origin } = claim.push;
    const waiting = this.line.get(origin);
    if (waiting === undefined) this.line.set(origin, [claim]);
    else if (goesOn) waiting.unshift(claim);
    else waiting.push(claim);
  }

  /** Takes out of the line what an origin that failed cannot use soon. */
  takeSurplus(origin: string): readonly LiveClaim[] {
    const waiting = this.line.get(origin);
    if (waiting === undefined || !this.slots.isSuspect(origin)) return [];
    this.line.delete(origin);
    return waiting;
  }

  /** The next claim that may be sent, with a slot taken for it; null when nothing may start now. */
  next(): LiveClaim | null {
    for (const [origin, waiting] of this.line) {
      if (!this.slots.tryTake(origin)) continue;
      const claim = waiting.shift();
      this.line.delete(origin);
      if (waiting.length > 0) this.line.set(origin, waiting);
      if (claim !== undefined) return claim;
      this.slots.give(origin, null);
    }
    return null;
  }
}
