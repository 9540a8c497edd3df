import { errorText, isClusterError, sleep, type Clock, type Logger, type Timer } from '@a2a-cluster/core';
import type { PushQueueStatements, PushSettlement } from '@a2a-cluster/db';
import { keyOf } from './live-claim.js';

/** Whether the claim was still the caller's, and when the statement was sent, by monotonic time. */
export interface Settled {
  readonly held: boolean;
  readonly sentAtMs: number;
}

/** What {@link Settler} needs. */
export interface SettlerParts {
  readonly queue: Pick<PushQueueStatements, 'settle'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long a settlement is tried: after it the claim has run out anyway. */
  readonly patienceMs: number;
}

interface Waiting {
  settlement: PushSettlement;
  readonly sinceMs: number;
  readonly resolvers: ((settled: Settled) => void)[];
}

/** How long a mark that ends no claim may wait for others to go with. */
const LAZY_MS = 50;
/** Most settlements of one statement. */
const MOST_AT_ONCE = 500;
const PAUSE_MS = 200;

/**
 * Stores what became of claims, many in one statement and one statement at a time: what comes up during one goes with
 * the next. A mark that ends no claim waits a moment for company.
 */
export class Settler {
  private readonly waiting = new Map<string, Waiting>();
  private timer: Timer | null = null;
  /** Something waits that is not to wait for company. */
  private urgent = false;
  private flushing: Promise<void> | null = null;

  constructor(private readonly parts: SettlerParts) {}

  /** Resolves when it is stored, or when it cannot be any more (`held` false). `soon`: without waiting for others. */
  settle(settlement: PushSettlement, soon = settlement.next.kind !== 'keep'): Promise<Settled> {
    return new Promise((resolve) => {
      this.add(settlement, resolve);
      this.urgent ||= soon;
      this.schedule();
    });
  }

  /** Resolves when nothing waits any more. */
  async idle(): Promise<void> {
    while (this.waiting.size > 0 || this.flushing !== null) {
      this.flush();
      await this.flushing;
    }
  }

  private add(settlement: PushSettlement, resolve: (settled: Settled) => void): void {
    const key = keyOf(settlement);
    const before = this.waiting.get(key);
    if (before?.settlement.claim === settlement.claim) {
      const delivered = before.settlement.delivered || settlement.delivered;
      before.settlement = { ...settlement, delivered };
      before.resolvers.push(resolve);
      return;
    }
    const nowMs = this.parts.clock.monotonicMs();
    for (const give of before?.resolvers ?? []) give({ held: false, sentAtMs: nowMs });
    this.waiting.set(key, { settlement, sinceMs: nowMs, resolvers: [resolve] });
  }

  private schedule(): void {
    if (this.waiting.size === 0 || this.flushing !== null) return;
    if (this.urgent) this.flush();
    else this.timer ??= this.parts.clock.setTimer(LAZY_MS, () => this.flush());
  }

  private flush(): void {
    this.timer?.cancel();
    this.timer = null;
    this.flushing ??= this.run().finally(() => {
      this.flushing = null;
      this.schedule();
    });
  }

  private async run(): Promise<void> {
    this.urgent = this.waiting.size > MOST_AT_ONCE;
    const batch = [...this.waiting.values()].slice(0, MOST_AT_ONCE);
    for (const { settlement } of batch) this.waiting.delete(keyOf(settlement));
    if (batch.length === 0) return;
    const { clock, queue } = this.parts;
    const sentAtMs = clock.monotonicMs();
    try {
      const held = new Set((await queue.settle(batch.map(({ settlement }) => settlement))).map(keyOf));
      for (const { settlement, resolvers } of batch)
        for (const resolve of resolvers) resolve({ held: held.has(keyOf(settlement)), sentAtMs });
    } catch (error) {
      await this.putBack(batch, error);
    }
  }

  /** Whatever of it was stored is stored again: settlements say where a claim stands, not what to add. */
  private async putBack(batch: readonly Waiting[], error: unknown): Promise<void> {
    const { clock, logger, patienceMs } = this.parts;
    const nowMs = clock.monotonicMs();
    const hopeless = isClusterError(error, 'CLOSED');
    logger.warn({ reason: errorText(error), configs: batch.length }, 'deliveries could not be marked');
    for (const entry of batch) {
      const { settlement, sinceMs, resolvers } = entry;
      const newer = this.waiting.get(keyOf(settlement));
      if (newer?.settlement.claim === settlement.claim) {
        // It says where the claim stands by now, but not that what came before was accepted.
        const delivered = newer.settlement.delivered || settlement.delivered;
        newer.settlement = { ...newer.settlement, delivered };
        newer.resolvers.push(...resolvers);
      } else if (hopeless || nowMs - sinceMs > patienceMs || newer)
        for (const resolve of resolvers) resolve({ held: false, sentAtMs: nowMs });
      else this.waiting.set(keyOf(settlement), entry);
    }
    this.urgent = true;
    await sleep({ clock, delayMs: PAUSE_MS });
  }
}
