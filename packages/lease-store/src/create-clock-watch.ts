import { errorText } from '@a2a-cluster/core';
import type { ServerClock } from '@a2a-cluster/db';
import { limited } from './call-limit.js';
import type { ClockWatch, ClockWatchOptions, QuietCause } from './clock-watch.js';
import { survivableBlackoutMs, SWEEP_JITTER } from './options.js';

/** How far the database's clock may differ from local time between two passes, beside the round trips. */
const TOLERATED_STEP_MS = 1_000;

/** A read slower than this was held up by something, so the silence before it is no longer taken for idleness. */
const SLOW_READ_MS = 1_000;

/** How long after the begin of a quiet period a second cause does not prolong it, in TTLs. */
const DEAF_TTLS = 2;

/** One answered reading; times are local and monotonic. */
interface Reading extends ServerClock {
  readonly sentAtMs: number;
  readonly answeredAtMs: number;
}

/** Makes the clock watch of one replica. It sets no timers but for the limit of a reading under way. */
export function createClockWatch(options: ClockWatchOptions): ClockWatch {
  return new DatabaseClockWatch(options);
}

class DatabaseClockWatch implements ClockWatch {
  readonly #options: ClockWatchOptions;
  /** Never aborts: a reading is bounded by its limit. */
  readonly #signal = new AbortController().signal;
  #last: Reading | null = null;
  #failedSince = false;
  #quietFromMs: number | null = null;
  /** Also at the start: whoever saw the clock step back may be gone, and this replica cannot know. */
  #clampDue = true;
  /** The observation under way, and the one that comes after it. */
  #observing: Promise<void> | null = null;
  #next: Promise<void> | null = null;

  constructor(options: ClockWatchOptions) {
    this.#options = options;
  }

  observe(): Promise<void> {
    if (this.#observing === null && this.#next === null) return this.#start();
    const before = this.#observing ?? Promise.resolve();
    const start = (): Promise<void> => {
      this.#next = null;
      return this.#start();
    };
    return (this.#next ??= before.then(start, start));
  }

  async freshlyQuiet(): Promise<boolean> {
    if (this.quiet()) return true;
    const isFirst = this.#last === null;
    try {
      await this.observe();
    } catch (error) {
      this.#options.logger.warn(
        { error: errorText(error) },
        'the clock could not be read, nothing is claimed',
      );
      return true;
    }
    return isFirst || this.quiet();
  }

  #start(): Promise<void> {
    const run = this.#observeOnce().finally(() => {
      this.#observing = null;
    });
    this.#observing = run;
    return run;
  }

  /** Two at once would each compare with the other's stale baseline, so there is one at a time. */
  async #observeOnce(): Promise<void> {
    const reading = await this.#read();
    const last = this.#last;
    const cause = last && this.#causeOf(last, reading);
    this.#last = reading;
    this.#failedSince = false;
    if (last && cause) this.#begin(cause, { last, reading });
    if (this.#clampDue && !this.quiet()) await this.#clamp();
  }

  noteReadFailure(): void {
    this.#failedSince = true;
  }

  longestPauseMs(): number {
    return survivableBlackoutMs(this.#options.options);
  }

  quiet(): boolean {
    return this.quietRemainingMs() > 0;
  }

  quietRemainingMs(): number {
    if (this.#quietFromMs === null) return 0;
    const { clock, options } = this.#options;
    return Math.max(0, this.#quietFromMs + options.ttlMs - clock.monotonicMs());
  }

  async #read(): Promise<Reading> {
    const { clock, leases } = this.#options;
    const sentAtMs = clock.monotonicMs();
    const server = await this.#limited(() => leases.readClock());
    return { ...server, sentAtMs, answeredAtMs: clock.monotonicMs() };
  }

  #causeOf(last: Reading, reading: Reading): QuietCause | null {
    if (reading.identity !== last.identity) return 'other_server';
    if (Math.abs(stepMs(last, reading)) > TOLERATED_STEP_MS + roundTripMs(last) + roundTripMs(reading))
      return 'clock_step';
    return this.#wasSilent(last, reading) ? 'blackout' : null;
  }

  /**
   * Whether the database did not answer for longer than S. Between two quick reads nobody asked, so the ordinary
   * pause between passes is no silence; a failed or slow read makes it one, and so does a pause that no schedule
   * explains.
   */
  #wasSilent(last: Reading, reading: Reading): boolean {
    const { options } = this.#options;
    const longestMs = survivableBlackoutMs(options);
    const silentMs = reading.answeredAtMs - last.answeredAtMs;
    if (silentMs <= longestMs) return false;
    if (this.#failedSince || roundTripMs(reading) > SLOW_READ_MS) return true;
    return silentMs > longestMs + options.sweepIntervalMs * (1 + SWEEP_JITTER);
  }

  #begin(cause: QuietCause, seen: { readonly last: Reading; readonly reading: Reading }): void {
    const { clock, logger, options } = this.#options;
    const nowMs = clock.monotonicMs();
    this.#clampDue = true;
    const fields = { cause, stepMs: Math.round(stepMs(seen.last, seen.reading)) };
    if (this.#quietFromMs !== null && nowMs < this.#quietFromMs + DEAF_TTLS * options.ttlMs) {
      logger.warn(fields, 'the database changed again, the quiet period is not prolonged');
      return;
    }
    this.#quietFromMs = nowMs;
    this.#options.telemetry?.count('quiet_periods_total', { cause });
    logger.warn(
      { ...fields, quietMs: options.ttlMs },
      'the database changed, nothing is claimed for a while',
    );
  }

  async #clamp(): Promise<void> {
    const { leases, logger, options } = this.#options;
    const cut = await this.#limited(() => leases.clampFuture(options.ttlMs));
    this.#clampDue = false;
    if (cut > 0) logger.warn({ leases: cut }, 'leases that expired in the far future were cut');
  }

  async #limited<T>(call: () => Promise<T>): Promise<T> {
    const { clock, options } = this.#options;
    try {
      return await limited({ clock, limitMs: options.renewalTimeoutMs, signal: this.#signal, call });
    } catch (error) {
      this.noteReadFailure();
      throw error;
    }
  }
}

function roundTripMs(reading: Reading): number {
  return reading.answeredAtMs - reading.sentAtMs;
}

/** How much further than local time the database's clock went from one reading to the next. */
function stepMs(last: Reading, reading: Reading): number {
  return reading.nowMs - last.nowMs - (reading.sentAtMs - last.sentAtMs);
}
