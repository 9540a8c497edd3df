import type { Clock, Timer } from '@a2a-cluster/core';
import type { HintSource } from '@a2a-cluster/db';
import type { FaultLog } from '../rate-limited-log.js';
import type { HintMode, Wake } from './hint-mode.js';

/** What the counter mode is made of. */
export interface CounterParts {
  readonly source: Extract<HintSource, { kind: 'counter' }>;
  readonly clock: Clock;
  readonly faults: FaultLog;
  readonly wake: Wake;
  readonly counterIntervalMs: number;
  /** The interval behind the counter. Default 1 000. */
  readonly pollIntervalMs: number | undefined;
}

/**
 * SQLite: a counter that every commit of another connection changes is read at a short interval while something is
 * watched. It says that something was written, not what, so a change reads all heads.
 */
export function createCounterMode(parts: CounterParts): HintMode {
  const { source, clock, faults, wake, counterIntervalMs } = parts;
  let timer: Timer | null = null;
  let last: number | null = null;
  let closed = false;

  const look = (): void => {
    try {
      const now = source.read();
      if (now === last) wake.quiet();
      else wake.all();
      last = now;
    } catch (error) {
      last = null;
      faults('reading the change counter failed', error);
    }
  };
  const tick = (): void => {
    timer = closed ? null : clock.setTimer(counterIntervalMs, tick);
    if (!closed) look();
  };
  const stop = (): void => {
    timer?.cancel();
    timer = null;
    last = null;
  };

  return {
    mode: 'counter',
    listening: false,
    pollIntervalMs: parts.pollIntervalMs ?? 1000,
    start: async () => {},
    close: async () => {
      closed = true;
      stop();
    },
    watching: (watching) => {
      if (watching && timer === null) tick();
      if (!watching) stop();
    },
    send: () => {},
  };
}
