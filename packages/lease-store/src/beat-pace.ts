import { errorText, type Logger } from '@a2a-cluster/core';

/** The pause after the first failed beat, doubled from then on. Shorter: a sick database is asked more often. */
const FIRST_RETRY_MS = 100;

/** The shortest pause after a failed beat, when little time remains. */
const SHORTEST_RETRY_MS = 20;

/** A third of what remains leaves room for two more tries. */
const SHARE_OF_REST = 3;

/** When the next beat is due, and what is said about failed ones. */
export interface BeatPace {
  /** Takes a failed beat into account and logs the 1st, 2nd, 4th, 8th .. in a row. */
  failed(error: unknown): void;
  /** Takes an answered beat into account. */
  answered(): void;
  /** There was nothing to beat for. */
  idle(): void;
  /** The pause before the next beat; `sinceMs` has passed since the last one was sent. */
  pauseMs(state: { readonly sinceMs: number; readonly earliestMs: number }): number;
}

/** The pace of one heartbeat: from beat to beat, so a slow one does not stack; sooner after a failure. */
export function createBeatPace(options: { readonly heartbeatMs: number; readonly logger: Logger }): BeatPace {
  const { heartbeatMs, logger } = options;
  let failures = 0;
  return {
    failed(error) {
      failures += 1;
      if (Number.isInteger(Math.log2(failures)))
        logger.warn({ failures, error: errorText(error) }, 'heartbeat failed, trying again');
    },
    answered() {
      if (failures > 0) logger.info({ failures }, 'heartbeat works again');
      failures = 0;
    },
    idle() {
      failures = 0;
    },
    pauseMs({ sinceMs, earliestMs }) {
      if (failures === 0) return Math.max(0, heartbeatMs - sinceMs);
      const backoffMs = Math.min(heartbeatMs, FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 10));
      // The time a hanging call was waited for is a pause as well.
      const pauseMs = Math.min(backoffMs - sinceMs, earliestMs / SHARE_OF_REST);
      return Math.max(SHORTEST_RETRY_MS, pauseMs);
    },
  };
}
