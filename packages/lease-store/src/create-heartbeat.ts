import { setMaxListeners } from 'node:events';
import { withFields, type Timer } from '@a2a-cluster/core';
import type { ReleaseOutcome, Renewed } from '@a2a-cluster/db';
import { createSafeReporter } from './beat-report.js';
import { createBeatPace } from './beat-pace.js';
import type { BeatCounts, Heartbeat, HeartbeatOptions, HeldLease, HoldLease } from './heartbeat.js';
import { createLeaseCalls, type HeartbeatContext } from './lease-calls.js';
import { LeaseEntry } from './lease-entry.js';
import { LeaseSet } from './lease-set.js';
import { createRecovery } from './recovery.js';
import { releaseRow } from './release.js';
import { callSafely } from './safe-callback.js';

/**
 * Makes the heartbeat of one replica (protocol 5).
 *
 * What a holder may rely on: `isHeld()` is true only while no other replica can have the lease by the database's
 * clock, whatever the network does; `onLost` runs before the lease expires, or in the first timer phase after the
 * process runs again. The local clock bounds the trust, the database's clock decides who holds.
 */
export function createHeartbeat(options: HeartbeatOptions): Heartbeat {
  return new LeaseHeartbeat(options);
}

class LeaseHeartbeat implements Heartbeat {
  readonly #context: HeartbeatContext;
  readonly #onBeat: HeartbeatOptions['onBeat'];
  readonly #reporter;
  readonly #stop = new AbortController();
  readonly #set;
  readonly #calls;
  readonly #recovery;
  readonly #pace;
  readonly #working = new Set<Promise<unknown>>();
  #started = false;
  #timer: Timer | null = null;
  #lastBeatMs = -Infinity;

  constructor({ leases, holder, options, clock, logger, onBeat, reporter }: HeartbeatOptions) {
    // Every call under way listens, and there may be as many as there are leases.
    setMaxListeners(0, this.#stop.signal);
    const context = { leases, holder, options, clock, logger, signal: this.#stop.signal };
    this.#context = { ...context, logger: withFields(logger, { holder }) };
    this.#onBeat = onBeat;
    this.#reporter = createSafeReporter(reporter, this.#context.logger);
    this.#set = new LeaseSet({
      trustMs: options.ttlMs - options.marginMs,
      clock,
      logger: this.#context.logger,
    });
    this.#calls = createLeaseCalls(this.#context);
    this.#recovery = createRecovery({ ...this.#context, set: this.#set, calls: this.#calls });
    this.#pace = createBeatPace({ heartbeatMs: options.heartbeatMs, logger: this.#context.logger });
  }

  async start(): Promise<void> {
    if (this.#started || this.#stop.signal.aborted) return;
    this.#started = true;
    this.#schedule(this.#context.options.heartbeatMs);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#timer?.cancel();
    this.#set.close();
    await this.#recovery.settled();
    await Promise.all(this.#working);
  }

  hold(hold: HoldLease): HeldLease {
    const entry = new LeaseEntry(hold);
    if (this.#set.size === 0) this.#lastBeatMs = hold.sentAtMs;
    this.#set.add(entry);
    // Its opening was long under way: it might run out before the next beat is answered.
    const { heartbeatMs, renewalTimeoutMs } = this.#context.options;
    if (this.#set.remainingMs(entry) < heartbeatMs + renewalTimeoutMs) this.#recovery.start(entry);
    return this.#handle(entry);
  }

  status(): { readonly heldCount: number; readonly lastBeatAgeMs: number | null } {
    const heldCount = this.#set.size;
    const ageMs = this.#context.clock.monotonicMs() - this.#lastBeatMs;
    return { heldCount, lastBeatAgeMs: heldCount === 0 ? null : Math.max(0, ageMs) };
  }

  async runOnce(): Promise<BeatCounts> {
    const { counts, lookedUp } = await this.#beat();
    const lost = await lookedUp;
    return { ...counts, lost: counts.lost + lost, unknown: counts.unknown - lost };
  }

  #handle(entry: LeaseEntry): HeldLease {
    const remainingMs = (): number => this.#set.remainingMs(entry);
    return {
      key: entry.key,
      isHeld: () => remainingMs() > 0,
      remainingMs,
      judge: () => this.#set.loseIfOverdue(entry),
      renewNow: () => this.#track(this.#recovery.renewOnce(entry)),
      release: () => this.#release(entry),
      end: () => void this.#set.end(entry),
      ending: (active) => {
        entry.setEnding(active);
        if (active || !entry.askAgain) return;
        entry.askAgain = false;
        this.#recovery.start(entry);
      },
    };
  }

  async #release(entry: LeaseEntry): Promise<ReleaseOutcome | null> {
    const deadlineMs = this.#context.clock.monotonicMs() + this.#set.remainingMs(entry);
    if (!this.#set.release(entry)) return null;
    const outcome = await this.#track(
      releaseRow({ context: this.#context, calls: this.#calls, entry, deadlineMs }),
    );
    if (outcome === 'cancel_requested') this.#set.reopen(entry);
    else this.#set.end(entry);
    return outcome;
  }

  #schedule(delayMs: number): void {
    if (this.#stop.signal.aborted) return;
    this.#timer = this.#context.clock.setTimer(delayMs, () => void this.#track(this.#tick()));
  }

  async #tick(): Promise<void> {
    const { clock } = this.#context;
    const sentAtMs = clock.monotonicMs();
    await this.#beat();
    const sinceMs = clock.monotonicMs() - sentAtMs;
    this.#schedule(this.#pace.pauseMs({ sinceMs, earliestMs: this.#set.earliestMs() }));
  }

  /** One statement for all leases. The look-up of the unknown ones goes on beside the next beat. */
  async #beat(): Promise<{ readonly counts: BeatCounts; readonly lookedUp: Promise<number> }> {
    const { clock, signal } = this.#context;
    const sentAtMs = clock.monotonicMs();
    const asked = signal.aborted ? [] : this.#set.live();
    const none = { leases: asked.length, renewed: 0, unknown: 0, lost: 0, failed: false, tookMs: 0 };
    if (asked.length === 0) {
      this.#pace.idle();
      return { counts: none, lookedUp: Promise.resolve(0) };
    }
    const report = this.#reporter.take();
    let counts: BeatCounts;
    let lookedUp = Promise.resolve(0);
    try {
      const answers = await this.#calls.beat(
        asked.map((entry) => entry.key),
        report,
      );
      this.#pace.answered();
      if (report !== null) this.#reporter.done(true);
      this.#lastBeatMs = Math.max(this.#lastBeatMs, sentAtMs);
      const judged = this.#judge(asked, { sentAtMs, answers });
      counts = { ...none, ...judged.counts, tookMs: clock.monotonicMs() - sentAtMs };
      lookedUp = this.#track(this.#recovery.lookUp(judged.unknown));
    } catch (error) {
      if (report !== null) this.#reporter.done(false);
      this.#set.loseOverdue();
      if (!signal.aborted) this.#pace.failed(error);
      const lost = asked.filter((entry) => !entry.open).length;
      const unknown = asked.length - lost;
      counts = { ...none, lost, unknown, failed: true, tookMs: clock.monotonicMs() - sentAtMs };
    }
    if (this.#onBeat !== undefined) callSafely(this.#context.logger, () => this.#onBeat?.(counts));
    return { counts, lookedUp };
  }

  #judge(
    asked: readonly LeaseEntry[],
    beat: { readonly sentAtMs: number; readonly answers: readonly Renewed[] },
  ): {
    readonly counts: Pick<BeatCounts, 'renewed' | 'unknown' | 'lost'>;
    readonly unknown: readonly LeaseEntry[];
  } {
    // A task has one row, so no two answers are for the same one.
    const answers = new Map(beat.answers.map((answer) => [answer.taskId, answer]));
    // What was let go while the beat was in flight is no longer judged by it.
    const still = asked.filter((entry) => entry.open);
    this.#set.loseOverdue();
    const unknown: LeaseEntry[] = [];
    let renewed = 0;
    for (const entry of still) {
      const answer = answers.get(entry.key.taskId);
      if (answer?.epoch !== entry.key.epoch) unknown.push(entry);
      else if (this.#set.renewed(entry, { sentAtMs: beat.sentAtMs, answer })) renewed += 1;
    }
    const open = unknown.filter((entry) => entry.open);
    const lost = still.length - renewed - open.length;
    return { counts: { renewed, unknown: open.length, lost }, unknown: open };
  }

  #track<T>(work: Promise<T>): Promise<T> {
    const done: Promise<unknown> = work.catch(() => {}).finally(() => this.#working.delete(done));
    this.#working.add(done);
    return work;
  }
}
