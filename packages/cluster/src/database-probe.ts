import { sleep, type Clock, type Logger, type Service } from '@a2a-cluster/core';
import type { Database } from '@a2a-cluster/db';

/** What the probe needs. */
export interface DatabaseProbeOptions {
  readonly database: Pick<Database, 'ping'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** From one question to the next. */
  readonly intervalMs: number;
}

/** Asks the database now and then whether it answers, for readiness; one round trip per interval. */
export interface DatabaseProbe extends Service {
  /** Milliseconds since an answered question was sent; null: none yet. */
  ageMs(): number | null;
}

/** Makes a probe; it asks for the first time at `start`. */
export function createDatabaseProbe(options: DatabaseProbeOptions): DatabaseProbe {
  const { database, clock, logger, intervalMs } = options;
  const stop = new AbortController();
  let answeredAtMs: number | null = null;
  let away = false;
  let loop: Promise<void> | null = null;

  const ping = async (): Promise<void> => {
    const sentAtMs = clock.monotonicMs();
    try {
      await database.ping();
      answeredAtMs = Math.max(answeredAtMs ?? 0, sentAtMs);
      if (away) logger.info({}, 'the database answers again');
      away = false;
    } catch (error) {
      if (!away && !stop.signal.aborted) logger.warn({ err: error }, 'the database does not answer');
      away = true;
    }
  };
  /** A question that hangs keeps neither the next one nor a close from coming. */
  const ask = async (): Promise<void> => {
    await Promise.race([ping(), sleep({ clock, delayMs: intervalMs, signal: stop.signal })]);
  };
  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await sleep({ clock, delayMs: intervalMs, signal: stop.signal });
      if (!stop.signal.aborted) await ask();
    }
  };
  return {
    ageMs: () => (answeredAtMs === null ? null : clock.monotonicMs() - answeredAtMs),
    async start() {
      if (loop !== null || stop.signal.aborted) return;
      loop = ask().then(run);
      await Promise.resolve();
    },
    async close() {
      stop.abort();
      await loop;
    },
  };
}
