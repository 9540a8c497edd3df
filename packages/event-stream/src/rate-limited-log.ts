import { errorText, type Clock, type Logger } from '@a2a-cluster/core';

const EVERY_MS = 10_000;

/** Logs a recurring fault. */
export type FaultLog = (what: string, error: unknown) => void;

/** A log of faults that says each kind at most once per 10 s, and then how often it was kept back. */
export function createFaultLog(parts: { readonly clock: Clock; readonly logger: Logger }): FaultLog {
  const { clock, logger } = parts;
  const last = new Map<string, { atMs: number; suppressed: number }>();
  return (what, error) => {
    const before = last.get(what);
    const nowMs = clock.monotonicMs();
    if (before && nowMs - before.atMs < EVERY_MS) {
      before.suppressed += 1;
      return;
    }
    last.set(what, { atMs: nowMs, suppressed: 0 });
    logger.warn({ error: errorText(error), suppressed: before?.suppressed ?? 0 }, what);
  };
}
