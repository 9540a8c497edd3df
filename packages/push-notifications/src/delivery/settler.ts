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

/** A claim whose settlement is made when it is sent, so that it says where the claim stands then. */
export interface Settling {
  readonly taskId: string;
  readonly configId: string;
  readonly claim: number;
  /** Called right before it is sent, and again before each further attempt to store it. */
  make(): Pick<PushSettlement, 'position' | 'delivered' | 'next'>;
}

interface Waiting {
  settling: Settling;
  /** An acceptance that an attempt to store has failed to tell. */
  delivered: boolean;
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

  /**
   * Resolves when it is stored, or when it cannot be any more (`held` false). `soon`: without waiting for others. What
   * the same claim had waiting is left out: the newer says where it stands.
   */
  settle(settling: Settling, soon: boolean): Promise<Settled> {
    return new Promise((resolve) => {
      this.add(settling, resolve);
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

  private add(settling: Settling, resolve: (settled: Settled) => void): void {
    const key = keyOf(settling);
    const before = this.waiting.get(key);
    if (before?.settling.claim === settling.claim) {
      before.settling = settling;
      before.resolvers.push(resolve);
      return;
    }
    const nowMs = this.parts.clock.monotonicMs();
    for (const give of before?.resolvers ?? []) give({ held: false, sentAtMs: nowMs });
    this.waiting.set(key, { settling, delivered: false, sinceMs: nowMs, resolvers: [resolve] });
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
    const batch = [...this.waiting.entries()].slice(0, MOST_AT_ONCE);
    for (const [key] of batch) this.waiting.delete(key);
    if (batch.length === 0) return;
    const settlements = batch.map(([, waiting]) => settlementOf(waiting));
    const { clock, queue } = this.parts;
    const sentAtMs = clock.monotonicMs();
    try {
      const held = new Set((await queue.settle(settlements)).map(keyOf));
      for (const [key, { resolvers }] of batch)
        for (const resolve of resolvers) resolve({ held: held.has(key), sentAtMs });
    } catch (error) {
      await this.putBack(batch, error);
    }
  }

  /** Whatever of it was stored is stored again: settlements say where a claim stands, not what to add. */
  private async putBack(batch: readonly (readonly [string, Waiting])[], error: unknown): Promise<void> {
    const { clock, logger, patienceMs } = this.parts;
    const nowMs = clock.monotonicMs();
    const hopeless = isClusterError(error, 'CLOSED');
    logger.warn({ reason: errorText(error), configs: batch.length }, 'deliveries could not be marked');
    for (const [key, entry] of batch) {
      const { settling, sinceMs, resolvers, delivered } = entry;
      const newer = this.waiting.get(key);
      if (newer?.settling.claim === settling.claim) {
        // It says where the claim stands by now, but not that what came before was accepted.
        newer.delivered ||= delivered;
        newer.resolvers.push(...resolvers);
      } else if (hopeless || nowMs - sinceMs > patienceMs || newer)
        for (const resolve of resolvers) resolve({ held: false, sentAtMs: nowMs });
      else this.waiting.set(key, entry);
    }
    this.urgent = true;
    await sleep({ clock, delayMs: PAUSE_MS });
  }
}

/** Made now; what it says of an acceptance is kept, in case it cannot be stored. */
function settlementOf(waiting: Waiting): PushSettlement {
  const { settling } = waiting;
  const { taskId, configId, claim } = settling;
  const { position, delivered, next } = settling.make();
  waiting.delivered ||= delivered;
  return { taskId, configId, claim, position, delivered: waiting.delivered, next };
}
