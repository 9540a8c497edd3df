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

/** Makes steps that cannot hang and cannot keep the next one from coming, so that a close is bounded. */
export function createCloseSteps(options: {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limitMs: number;
}): CloseSteps {
  const { clock, logger } = options;
  return {
    async run({ name, limitMs = options.limitMs, work }) {
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
