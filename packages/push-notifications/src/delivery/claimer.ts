import { errorText, type Clock, type Logger, type Timer } from '@a2a-cluster/core';
import {
  MOST_TASKS_AT_ONCE,
  type ClaimedDeadLetter,
  type ClaimedPush,
  type PushClaimant,
  type PushQueueStatements,
} from '@a2a-cluster/db';

/** Which claims are wanted now. */
export interface Demand {
  /** How many there is room for. */
  readonly room: number;
  /** Origins that none are wanted of. */
  readonly fullOrigins: readonly string[];
  /** Origins that failed: of each one is wanted, so that it is seen when it is well again. */
  readonly suspectOrigins: readonly string[];
}

/** Claims of one statement. */
export interface ClaimsMade {
  readonly claimed: readonly ClaimedPush[];
  /** Before the statement was sent, by monotonic time. */
  readonly sentAtMs: number;
  /** Whether these are all that could be claimed of their tasks. */
  readonly ofTasks: boolean;
}

/** What {@link Claimer} needs. */
export interface ClaimerParts {
  readonly queue: PushQueueStatements;
  readonly claimant: PushClaimant;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pollIntervalMs: number;
  readonly demand: () => Demand;
  /** Claims were made. */
  readonly onClaimed: (made: ClaimsMade) => void;
  readonly onDeadLetters: (letters: readonly ClaimedDeadLetter[]) => void;
  /** Nothing is being claimed and nothing waits to be. */
  readonly onIdle: () => void;
}

/** How long a task without webhooks is not asked about again; one registered elsewhere meanwhile is found by a poll. */
const UNKNOWN_MS = 1_000;
const AGAIN_MS = 200;
const MOST_UNKNOWN = 10_000;
/** After a look that found nothing the next one comes later by this factor. */
const IDLE_FACTOR = 2;
/** Dead letters that an operator wants sent again are looked for once in so many intervals. */
const INTERVALS_PER_LETTERS = 6;
const LETTERS_AT_ONCE = 16;
const SUSPECTS_AT_ONCE = 16;
/** After a statement that failed. */
const PAUSE_MS = 1_000;

/**
 * Brings claims: at once for tasks that were committed to here, and at an interval for what is due and nobody's,
 * which is what others left. One statement at a time.
 */
export class Claimer {
  private readonly wanted = new Set<string>();
  /** Tasks without webhooks, and until when that is believed. */
  private readonly unknown = new Map<string, number>();
  /** Tasks with a webhook that fails, and until when it is left out. */
  private readonly deferred = new Map<string, number>();
  /** Tasks whose webhooks were not free, asked for a second time. */
  private readonly askedAgain = new Set<string>();
  private timer: { readonly atMs: number; readonly timer: Timer } | null = null;
  private working: Promise<void> | null = null;
  private pollDue = false;
  /** By monotonic time. */
  private lettersAtMs = -Infinity;
  /** The last look may have left something out. */
  private backlog = false;
  private open = false;
  private paused = false;

  constructor(private readonly parts: ClaimerParts) {}

  start(): void {
    this.open = true;
    this.poll();
  }

  /** Nothing is claimed any more once it has resolved. */
  async close(): Promise<void> {
    this.open = false;
    this.timer?.timer.cancel();
    await this.working;
  }

  /** Events of this task are there to be delivered. `surely`: it has webhooks. */
  want(taskId: string, surely = false): void {
    if (!this.open) return;
    if (surely) this.unknown.delete(taskId);
    else if ((this.unknown.get(taskId) ?? 0) > this.parts.clock.monotonicMs()) return;
    this.wanted.add(taskId);
    this.work();
  }

  /**
   * A webhook of this task fails and has more to do than it can: it is left to the polls for a while. The other webhooks
   * of the task are not.
   */
  defer(taskId: string): void {
    this.backlog = true;
    this.note(this.deferred, taskId);
  }

  /** Looks for what is due, at once or after a delay. */
  poll(delayMs = 0): void {
    if (!this.open) return;
    if (delayMs <= 0) {
      this.pollDue = true;
      this.work();
      return;
    }
    const atMs = this.parts.clock.monotonicMs() + delayMs;
    if (this.timer !== null && this.timer.atMs <= atMs) return;
    this.timer?.timer.cancel();
    const timer = this.parts.clock.setTimer(delayMs, () => {
      this.timer = null;
      this.poll();
    });
    this.timer = { atMs, timer };
  }

  /** Looks at once for what is due, dead letters that somebody has asked for included. */
  pollAll(): void {
    this.lettersAtMs = -Infinity;
    this.poll();
  }

  /** There is room again: what an earlier look left out is looked for after `delayMs`. */
  refill(delayMs: number): void {
    if (this.backlog) this.poll(delayMs);
  }

  /** Goes on with tasks that there was no room for. */
  more(): void {
    this.work();
  }

  /** Whether nothing is being claimed and nothing waits to be. */
  get isIdle(): boolean {
    return this.working === null && !this.hasWork();
  }

  private hasWork(): boolean {
    if (!this.open || this.paused) return false;
    return this.pollDue || (this.wanted.size > 0 && this.parts.demand().room > 0);
  }

  private work(): void {
    if (this.working !== null || !this.hasWork()) return;
    this.working = this.run().finally(() => {
      this.working = null;
      this.work();
      if (this.isIdle) this.parts.onIdle();
    });
  }

  private async run(): Promise<void> {
    // Not in the committer's own turn of the event loop: it has streams to feed first.
    await Promise.resolve();
    while (this.hasWork()) {
      try {
        if (this.wanted.size > 0 && this.parts.demand().room > 0) await this.claimWanted();
        else await this.claimDue();
      } catch (error) {
        this.parts.logger.warn({ reason: errorText(error) }, 'deliveries could not be claimed');
        this.pause();
      }
    }
  }

  /** The database may be away: what is wanted stays so. */
  private pause(): void {
    this.paused = true;
    this.parts.clock.setTimer(PAUSE_MS, () => {
      this.paused = false;
      this.work();
    });
  }

  private async claimWanted(): Promise<void> {
    const { clock, demand } = this.parts;
    const { room, suspectOrigins } = demand();
    const nowMs = clock.monotonicMs();
    const batch = [...this.wanted].slice(0, Math.min(MOST_TASKS_AT_ONCE, room));
    const isDeferred = (taskId: string): boolean => (this.deferred.get(taskId) ?? 0) > nowMs;
    await this.claimOf(batch.filter((taskId) => !isDeferred(taskId)));
    await this.claimOf(batch.filter(isDeferred), suspectOrigins);
  }

  private async claimOf(taskIds: readonly string[], exceptOrigins: readonly string[] = []): Promise<void> {
    if (taskIds.length === 0) return;
    const { queue, claimant, clock } = this.parts;
    for (const taskId of taskIds) this.wanted.delete(taskId);
    const sentAtMs = clock.monotonicMs();
    try {
      const { claimed, known } = await queue.claimOf({ ...claimant, taskIds, exceptOrigins });
      const found = new Set(known);
      for (const taskId of taskIds) if (!found.has(taskId)) this.note(this.unknown, taskId);
      if (exceptOrigins.length === 0) this.askAgain(known, new Set(claimed.map(({ taskId }) => taskId)));
      this.parts.onClaimed({ claimed, sentAtMs, ofTasks: true });
    } catch (error) {
      for (const taskId of taskIds) this.wanted.add(taskId);
      throw error;
    }
  }

  private note(tasks: Map<string, number>, taskId: string): void {
    if (tasks.size > MOST_UNKNOWN) tasks.clear();
    tasks.set(taskId, this.parts.clock.monotonicMs() + UNKNOWN_MS);
  }

  /**
   * What another replica is just letting go of is asked for once more; after that it is the release that makes it due.
   */
  private askAgain(known: readonly string[], claimed: ReadonlySet<string>): void {
    for (const taskId of known) {
      if (claimed.has(taskId) || this.askedAgain.delete(taskId)) continue;
      this.askedAgain.add(taskId);
      this.parts.clock.setTimer(AGAIN_MS, () => this.want(taskId, true));
    }
  }

  private async claimDue(): Promise<void> {
    const { queue, claimant, clock, demand, pollIntervalMs } = this.parts;
    this.pollDue = false;
    const nextMs = pollIntervalMs * (0.75 + Math.random() / 4);
    // Also where this look fails.
    this.poll(nextMs * IDLE_FACTOR);
    await this.claimLetters();
    const { room, fullOrigins, suspectOrigins } = demand();
    this.backlog = true;
    if (room === 0) return this.poll(nextMs);
    const sentAtMs = clock.monotonicMs();
    const exceptOrigins = [...new Set([...fullOrigins, ...suspectOrigins])];
    const due = await queue.claimDue({ ...claimant, limit: room, exceptOrigins });
    if (due.seen > 0) this.poll(nextMs);
    this.parts.onClaimed({ claimed: due.claimed, sentAtMs, ofTasks: false });
    await this.claimOfSuspects(suspectOrigins.filter((origin) => !fullOrigins.includes(origin)));
    this.backlog = due.seen >= room || exceptOrigins.length > 0;
    if (due.seen >= room) this.pollDue = this.parts.demand().room > 0;
  }

  private async claimLetters(): Promise<void> {
    const { queue, claimant, clock, pollIntervalMs } = this.parts;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.lettersAtMs < INTERVALS_PER_LETTERS * pollIntervalMs) return;
    this.lettersAtMs = nowMs;
    this.parts.onDeadLetters(await queue.claimDeadLetters({ ...claimant, limit: LETTERS_AT_ONCE }));
  }

  private async claimOfSuspects(onlyOrigins: readonly string[]): Promise<void> {
    if (onlyOrigins.length === 0) return;
    const { queue, claimant, clock } = this.parts;
    const limit = Math.min(SUSPECTS_AT_ONCE, onlyOrigins.length);
    const sentAtMs = clock.monotonicMs();
    const due = await queue.claimDue({ ...claimant, limit, exceptOrigins: [], onlyOrigins });
    this.parts.onClaimed({ claimed: due.claimed, sentAtMs, ofTasks: false });
  }
}
