import { setMaxListeners } from 'node:events';
import { errorText, sleep, type Clock, type EventRow, type Logger } from '@a2a-cluster/core';
import type { ClaimedDeadLetter, Database } from '@a2a-cluster/db';
import type { WebhookClient } from '../webhook/client.js';
import { ClaimBook } from './claim-book.js';
import { Claimer, type ClaimsMade } from './claimer.js';
import { DeliveryCounters, type DeliveryCounts } from './counters.js';
import { createEventFeed, type EventFeed } from './event-feed.js';
import { sendDeadLetter } from './dead-letters.js';
import { createLiveClaim, moveTo, type LiveClaim } from './live-claim.js';
import type { ResolvedDeliveryLimits } from './options.js';
import { ClaimRunner } from './runner.js';
import { Settler } from './settler.js';
import { Slots } from './slots.js';
import { DeliveryOrigins } from './traced-post.js';

/** What {@link DeliveryEngine} needs. */
export interface EngineParts {
  readonly database: Pick<Database, 'log' | 'tasks' | 'pushQueue'>;
  readonly client: WebhookClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly holder: string;
  readonly limits: ResolvedDeliveryLimits;
}

/** What {@link DeliveryEngine.committed} is told. */
export interface Committed {
  readonly taskId: string;
  readonly rows: readonly EventRow[];
  /** No event will follow. */
  readonly ended: boolean;
}

/** Less than a mark waits for company, so that the two go together where nothing comes. */
const LINGER_MS = 40;

/** Rows that are handed to a claim from the commit, without a read; what is larger is read when its turn comes. */
const HANDED_BYTES = 64 * 1024;

/** Events of one claim that are sent before others of its origin have their turn. */
const MOST_IN_A_ROW = 16;

/** Between two claims of webhooks that fail: they are many, and each attempt is only to see whether one is well. */
const SUSPECT_REFILL_MS = 250;

/**
 * Delivers what the log holds after each config's position (protocol 9). Whoever holds a config's claim sends its
 * events, one at a time and in order; the claim, the slots and the settler each have their own file.
 */
export class DeliveryEngine {
  readonly counters = new DeliveryCounters();
  private readonly slots: Slots;
  private readonly book: ClaimBook;
  private readonly settler: Settler;
  private readonly feed: EventFeed;
  private readonly runner: ClaimRunner;
  private readonly claimer: Claimer;
  private readonly closing = new AbortController();
  /** Tasks of which all that could be claimed is claimed here: what is committed here needs no asking. */
  private readonly covered = new Set<string>();
  private readonly origins = new DeliveryOrigins();
  private readonly serving = new Set<Promise<void>>();
  private stopped = false;
  private waiters: (() => void)[] = [];

  constructor(private readonly parts: EngineParts) {
    const { database, limits, clock, logger, holder } = parts;
    const { concurrency, concurrencyPerOrigin: perOrigin, claimTtlMs: ttlMs, pollIntervalMs } = limits;
    // Every attempt listens.
    setMaxListeners(0, this.closing.signal);
    this.slots = new Slots({ total: concurrency, perOrigin });
    this.book = new ClaimBook(this.slots, concurrency);
    this.settler = new Settler({ queue: database.pushQueue, clock, logger, patienceMs: ttlMs });
    this.feed = createEventFeed(database.log);
    this.claimer = new Claimer({
      queue: database.pushQueue,
      claimant: { holder, ttlMs },
      demand: () => ({
        room: this.book.room,
        fullOrigins: this.book.fullOrigins(),
        suspectOrigins: this.slots.suspects(),
      }),
      onClaimed: (made) => this.take(made),
      onDeadLetters: (letters) => this.sendLetters(letters),
      onIdle: () => this.tellIdle(),
      ...{ clock, logger, pollIntervalMs },
    });
    this.runner = new ClaimRunner({
      ...parts,
      settler: this.settler,
      counters: this.counters,
      closing: this.closing.signal,
      origins: this.origins,
      onRetry: (delayMs) => this.claimer.poll(delayMs),
    });
  }

  start(): void {
    this.claimer.start();
  }

  status(): { readonly inFlight: number; readonly claims: number; readonly ends: DeliveryCounts } {
    return { inFlight: this.slots.inFlight, claims: this.book.size, ends: this.counters.read() };
  }

  /** A config was registered or enabled: its task may have events for it. */
  registered(taskId: string): void {
    this.claimer.want(taskId, true);
  }

  /** An operator asked for retries. */
  asked(): void {
    this.claimer.pollAll();
  }

  /** Events were committed here. */
  committed({ taskId, rows, ended }: Committed): void {
    const last = rows.at(-1);
    if (last === undefined || this.stopped || rows.every((row) => row.kind === 'message')) return;
    this.origins.note(taskId);
    const claims = this.book.ofTask(taskId);
    for (const claim of claims) {
      hand(claim, rows);
      claim.version = Math.max(claim.version, last.seq);
      claim.taskEnded ||= ended;
      claim.more?.();
    }
    if (!this.covered.has(taskId)) this.claimer.want(taskId, claims.length > 0);
  }

  /** Resolves when nothing is under way here; what waits for a retry is not waited for. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.waiters.push(resolve);
      this.tellIdle();
    });
  }

  /**
   * Goes on for at most `graceMs`, then starts no more attempts and cuts those under way, and gives back every claim,
   * so that others go on at once.
   */
  async close(graceMs: number): Promise<void> {
    const { clock } = this.parts;
    const within = (work: Promise<void>): Promise<void> =>
      Promise.race([work, sleep({ clock, delayMs: graceMs })]);
    await within(this.idle());
    this.stopped = true;
    await within(this.claimer.close());
    this.closing.abort();
    await within(Promise.all(this.serving).then(() => {}));
    await Promise.all(this.book.all().map((claim) => within(this.runner.release(claim))));
    await within(this.settler.idle());
    await this.parts.client.close();
  }

  private take({ claimed, sentAtMs, ofTasks }: ClaimsMade): void {
    const nowMs = this.parts.clock.monotonicMs();
    for (const push of claimed) {
      const claim = createLiveClaim(push, { sentAtMs, nowMs, ttlMs: this.parts.limits.claimTtlMs });
      if (this.stopped) void this.runner.release(claim);
      else if (this.slots.isSuspect(push.origin) && this.book.isFull(push.origin)) this.putBack(claim);
      else {
        this.book.replace(claim);
        if (ofTasks) this.covered.add(push.taskId);
        void this.prepare(claim);
      }
    }
  }

  /** A turn that goes on is about to write again: a claim for each of its events would cost more than it is worth. */
  private async linger(claim: LiveClaim): Promise<void> {
    if (claim.taskEnded || this.stopped) return;
    const more = new AbortController();
    claim.more = () => more.abort();
    await sleep({ clock: this.parts.clock, delayMs: LINGER_MS, signal: more.signal });
    claim.more = null;
  }

  /** A webhook that fails has enough to do; its backlog must not take the place of others. */
  private putBack(claim: LiveClaim): void {
    this.claimer.defer(claim.push.taskId);
    void this.runner.release(claim);
  }

  /** Brings a claim to its next event and into the line, or to its end. Never rejects. */
  private async prepare(claim: LiveClaim): Promise<void> {
    try {
      while (!claim.ended && !(await this.hasNext(claim)));
      if (claim.ended) return this.drop(claim);
      claim.inARow = 0;
      this.book.enqueue(claim);
      this.pump();
    } catch (error) {
      const { taskId, configId } = claim.push;
      const reason = errorText(error);
      this.parts.logger.warn({ taskId, configId, reason }, 'a log could not be read to push it');
      await this.runner.postpone(claim, 'The log could not be read.');
      this.drop(claim);
    }
  }

  /** Whether the claim's first row is the next to send. False: ask again, or it has ended. */
  private async hasNext(claim: LiveClaim): Promise<boolean> {
    if (hasNextAtHand(claim)) return true;
    if (claim.position >= claim.version) {
      await this.linger(claim);
      if (claim.position >= claim.version) await this.runner.release(claim);
      return false;
    }
    const { version, position: after } = claim;
    const rows = await this.feed.read({ taskId: claim.push.taskId, after });
    claim.rows = rows.filter(({ seq }) => seq > claim.position);
    // Where the log was pruned there is nothing to send.
    if (rows.length === 0) pass(claim, version);
    return false;
  }

  private giveUp(claim: LiveClaim): void {
    this.putBack(claim);
    this.book.remove(claim);
    this.covered.delete(claim.push.taskId);
  }

  private pump(): void {
    if (this.stopped) return;
    for (let claim = this.book.next(); claim !== null; claim = this.book.next()) void this.serve(claim);
  }

  private serve(claim: LiveClaim): Promise<void> {
    const served = this.attempt(claim).finally(() => this.serving.delete(served));
    this.serving.add(served);
    return served;
  }

  private async attempt(claim: LiveClaim): Promise<void> {
    const failed = await this.runner.attempt(claim);
    this.slots.give(claim.push.origin, failed);
    if (this.stopped) return;
    if (failed) for (const waiting of this.book.takeSurplus(claim.push.origin)) this.giveUp(waiting);
    claim.inARow += 1;
    if (!claim.ended && claim.inARow < MOST_IN_A_ROW && hasNextAtHand(claim)) this.book.enqueue(claim, true);
    else await this.prepare(claim);
    this.pump();
  }

  private drop(claim: LiveClaim): void {
    const { taskId } = claim.push;
    this.book.remove(claim);
    this.covered.delete(taskId);
    if (this.book.isLow(claim.push.origin)) this.claimer.refill(claim.attempts > 0 ? SUSPECT_REFILL_MS : 0);
    // Committed while the claim was being given back.
    if (claim.version > claim.position && claim.attempts === 0) this.claimer.want(taskId, true);
    this.claimer.more();
    this.tellIdle();
  }

  private sendLetters(letters: readonly ClaimedDeadLetter[]): void {
    const { database, client, logger, holder } = this.parts;
    for (const letter of letters)
      void sendDeadLetter({ database, client, logger, holder, signal: this.closing.signal }, letter);
  }

  private tellIdle(): void {
    if (this.book.size > 0 || !this.claimer.isIdle) return;
    const { waiters } = this;
    this.waiters = [];
    for (const resolve of waiters) resolve();
  }
}

/** Whether the claim's first row is the next to send; passes over what is not sent. */
function hasNextAtHand(claim: LiveClaim): boolean {
  for (let row = claim.rows[0]; row?.kind === 'message'; row = claim.rows[0]) pass(claim, row.seq);
  return claim.rows.length > 0;
}

/** Past what is not sent: no attempt was made. */
function pass(claim: LiveClaim, seq: number): void {
  const { attempts } = claim;
  moveTo(claim, seq);
  claim.attempts = attempts;
}

/** Rows that follow those the claim has: they need no read. */
function hand(claim: LiveClaim, rows: readonly EventRow[]): void {
  const last = claim.rows.at(-1)?.seq ?? claim.position;
  if (claim.version !== last || rows[0]?.seq !== last + 1) return;
  const bytes = [...claim.rows, ...rows].reduce((sum, { payload }) => sum + payload.length, 0);
  if (bytes <= HANDED_BYTES) claim.rows = [...claim.rows, ...rows];
}
