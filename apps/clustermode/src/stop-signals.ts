import { createSystemClock } from '@a2a-cluster/core';

/**
 * One Ctrl-C may arrive twice at once: from the terminal, and from a parent such as npm that hands it on. What comes
 * this soon after the first is the same wish. Two SIGTERM are two wishes: no terminal sends them.
 */
const SAME_WISH_MS = 50;

/** The wish to stop. */
export interface StopSignals {
  /** Resolves at the first SIGTERM or SIGINT, or when the parent that started this replica with a channel is gone. */
  readonly stop: Promise<string>;
  /** Whether it came already. */
  readonly stopped: boolean;
}

/** Listens for the wish to stop; at a second one `again` is called with the exit code that says so. */
export function watchStopSignals(again: (exitCode: number) => void): StopSignals {
  const clock = createSystemClock();
  let first: { readonly atMs: number; readonly reason: string } | undefined;
  let resolve: (reason: string) => void = () => {};
  const stop = new Promise<string>((done) => (resolve = done));
  const wish = (reason: string, exitCode: number): void => {
    const nowMs = clock.monotonicMs();
    if (first === undefined) {
      first = { atMs: nowMs, reason };
      resolve(reason);
      return;
    }
    const twoTerms = reason === 'SIGTERM' && first.reason === 'SIGTERM';
    if (twoTerms || nowMs - first.atMs > SAME_WISH_MS) again(exitCode);
  };
  process.on('SIGTERM', () => wish('SIGTERM', 143));
  process.on('SIGINT', () => wish('SIGINT', 130));
  if (process.channel) process.once('disconnect', () => wish('the parent is gone', 1));
  return {
    stop,
    get stopped() {
      return first !== undefined;
    },
  };
}
