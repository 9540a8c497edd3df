import { ClusterError, type Clock } from '@a2a-cluster/core';

/** A call that may hang, and how long it is waited for. */
export interface LimitedCall<T> {
  readonly clock: Clock;
  readonly limitMs: number;
  /** Ends the wait at once. */
  readonly signal: AbortSignal;
  readonly call: () => Promise<T>;
}

/**
 * Waits for a call for at most `limitMs`. An answer after that is ignored, a late rejection included: the call
 * itself cannot be taken back, the database layer has its own limits.
 *
 * @throws what the call throws; `ClusterError` `UNKNOWN_OUTCOME` at the limit, `CLOSED` when the signal aborts.
 */
export function limited<T>({ clock, limitMs, signal, call }: LimitedCall<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const done = (settle: () => void): void => {
      timer.cancel();
      signal.removeEventListener('abort', onAbort);
      settle();
    };
    const onAbort = (): void => done(() => reject(new ClusterError('CLOSED', 'closed while waiting')));
    const late = (): void =>
      done(() => reject(new ClusterError('UNKNOWN_OUTCOME', `no answer within ${Math.round(limitMs)} ms`)));
    const timer = clock.setTimer(Math.max(0, limitMs), late);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) return onAbort();
    // Inside an async function, so that a call that throws at once is a rejection like any other.
    (async () => call())().then(
      (value) => done(() => resolve(value)),
      (error: unknown) => done(() => reject(error)),
    );
  });
}
