/** A timer that was set; `cancel` is idempotent. */
export interface Timer {
  cancel(): void;
}

/**
 * The process's own time. It only ever bounds trust locally: which lease lives is decided by the database's clock
 * (protocol 2). Tests inject their own.
 */
export interface Clock {
  /** Milliseconds that never run backwards and do not follow clock steps. Compared with nothing of another process. */
  monotonicMs(): number;
  /** The wall clock as ISO 8601 in UTC, for people to read; decides nothing. */
  wallIso(): string;
  /** Runs `action` once after `delayMs` (0 or more). The timer does not keep the process alive. */
  setTimer(delayMs: number, action: () => void): Timer;
}

/** The longest delay a timer of the platform takes without firing at once. */
const LONGEST_TIMER_MS = 2_147_483_647;

/** The clock of this process. */
export function createSystemClock(): Clock {
  return {
    monotonicMs: () => performance.now(),
    wallIso: () => new Date().toISOString(),
    setTimer(delayMs, action) {
      const timer = setTimeout(action, Math.min(Math.max(delayMs, 0), LONGEST_TIMER_MS));
      timer.unref();
      return { cancel: () => clearTimeout(timer) };
    },
  };
}

/** Options of {@link sleep}. */
export interface SleepOptions {
  readonly clock: Clock;
  readonly delayMs: number;
  /** Ends the wait early, without an error. */
  readonly signal?: AbortSignal;
}

/** Waits for `delayMs` or until the signal aborts, whichever is first. Never rejects. */
export function sleep(options: SleepOptions): Promise<void> {
  const { clock, delayMs, signal } = options;
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = (): void => {
      timer.cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = clock.setTimer(delayMs, done);
    signal?.addEventListener('abort', done, { once: true });
  });
}
