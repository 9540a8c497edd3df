import { sleep, type Clock, type Logger } from '@a2a-cluster/core';

/** One step of a close. */
export interface CloseStep {
  /** For the log. */
  readonly name: string;
  /** How long it is waited for; default: that of all steps. */
  readonly limitMs?: number;
  work(): Promise<unknown>;
}

/** Runs the steps of a close, one after the other. */
export interface CloseSteps {
  /** Resolves when the step is done, has failed, or its time is up; never rejects. */
  run(step: CloseStep): Promise<void>;
}

/** What a step gets although the time of all is over: enough to begin, so that what needs no answer is still done. */
const LEAST_MS = 50;

/** Makes steps that cannot hang and cannot keep the next one from coming, so that a close is bounded. */
export function createCloseSteps(options: {
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long a step is waited for that does not say otherwise. */
  readonly limitMs: number;
  /** How long all steps together are waited for, from now on. */
  readonly totalMs: number;
}): CloseSteps {
  const { clock, logger } = options;
  const endsAtMs = clock.monotonicMs() + options.totalMs;
  return {
    async run({ name, limitMs: wantedMs = options.limitMs, work }) {
      const limitMs = Math.max(LEAST_MS, Math.min(wantedMs, endsAtMs - clock.monotonicMs()));
      const done = new AbortController();
      const step = (async () => work())().catch((error: unknown) => {
        logger.error({ err: error, step: name }, 'a step of the close failed');
      });
      const limit = sleep({ clock, delayMs: limitMs, signal: done.signal }).then(() => {
        if (!done.signal.aborted)
          logger.warn({ step: name, limitMs }, 'a step of the close is not waited for any longer');
      });
      await Promise.race([step, limit]);
      done.abort();
    },
  };
}
