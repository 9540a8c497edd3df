import { errorText, type Logger } from '@a2a-cluster/core';
import type { ReplicaReport } from '@a2a-cluster/db';
import { callSafely } from './safe-callback.js';

/** What a replica says of itself, for beats to carry along where the database takes it in their statement. */
export interface BeatReporter {
  /** What the next beat carries; null: nothing. Asked once per beat, without I/O. What it throws is logged. */
  take(): ReplicaReport | null;
  /**
   * Whether the beat that carried it was answered. One that was not may have failed because of what it carried, so the
   * next ones must go without until the table is known to work.
   */
  done(answered: boolean): void;
}

/** The reporter of a heartbeat, whose faults are no fault of the beat. */
export function createSafeReporter(reporter: BeatReporter | undefined, logger: Logger): BeatReporter {
  return {
    take() {
      try {
        return reporter?.take() ?? null;
      } catch (error) {
        logger.error({ error: errorText(error) }, 'a heartbeat goes without a report');
        return null;
      }
    },
    done: (answered) => callSafely(logger, () => reporter?.done(answered)),
  };
}
