/** How many attempts may be under way. */
export interface SlotLimits {
  readonly total: number;
  readonly perOrigin: number;
}

/** What an origin gets that nothing is known of. */
const FIRST_LIMIT = 4;

/** What suspects may have together: a quarter, so that webhooks that answer always find the rest free. */
const SUSPECT_SHARE = 4;

/** Origins whose limit is remembered, the latest. */
const MOST_ORIGINS = 2_000;

/**
 * Who may start an attempt now. What an origin may have grows by one with each success and is halved by each failure
 * (additive increase, multiplicative decrease). One that is down to a single slot is a suspect; all suspects together
 * get a quarter of the slots. So webhooks that hang or fail cannot take what others need.
 */
export class Slots {
  private readonly inUse = new Map<string, number>();
  private readonly limits = new Map<string, number>();
  private used = 0;

  constructor(private readonly most: SlotLimits) {}

  /** Attempts under way. */
  get inFlight(): number {
    return this.used;
  }

  /** Most attempts this origin may have at once, now. */
  limitOf(origin: string): number {
    return this.limits.get(origin) ?? Math.min(FIRST_LIMIT, this.most.perOrigin, this.most.total);
  }

  isSuspect(origin: string): boolean {
    return this.limits.get(origin) === 1;
  }

  suspects(): readonly string[] {
    return [...this.limits.keys()].filter((origin) => this.isSuspect(origin));
  }

  /** Takes a slot if there is one for this origin. */
  tryTake(origin: string): boolean {
    if (this.used >= this.most.total || this.of(origin) >= this.limitOf(origin)) return false;
    if (this.isSuspect(origin) && this.usedBySuspects() >= this.forSuspects()) return false;
    this.count(origin, 1);
    return true;
  }

  /** Gives a slot back. `failed`: what its attempt says of the origin; null when there was none. */
  give(origin: string, failed: boolean | null): void {
    this.count(origin, -1);
    if (failed === null) return;
    const now = this.limitOf(origin);
    const grown = Math.min(now + 1, this.most.perOrigin, this.most.total);
    this.limits.delete(origin);
    this.limits.set(origin, failed ? Math.max(1, Math.floor(now / 2)) : grown);
    const [oldest] = this.limits.keys();
    if (this.limits.size > MOST_ORIGINS && oldest !== undefined) this.limits.delete(oldest);
  }

  private forSuspects(): number {
    return Math.max(1, Math.floor(this.most.total / SUSPECT_SHARE));
  }

  private usedBySuspects(): number {
    let used = 0;
    for (const [origin, count] of this.inUse) if (this.isSuspect(origin)) used += count;
    return used;
  }

  private of(origin: string): number {
    return this.inUse.get(origin) ?? 0;
  }

  private count(origin: string, change: 1 | -1): void {
    const now = this.of(origin) + change;
    if (now === 0) this.inUse.delete(origin);
    else this.inUse.set(origin, now);
    this.used += change;
  }
}
