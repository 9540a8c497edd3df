import { sleep, type Clock } from '@a2a-cluster/core';
import type pg from 'pg';
import { isRetriable } from '../errors/postgresql-faults.js';
import type { Connections } from './connections.js';
import type { Statement } from './statement.js';

/** Sends a statement again when the server rolled it back for a passing reason. */
export interface Retrying {
  run<R extends pg.QueryResultRow>(statement: Statement, values: readonly unknown[]): Promise<R[]>;
}

/** Options of {@link createRetrying}. */
export interface RetryingOptions {
  readonly connections: Connections;
  readonly clock: Clock;
  /** No attempt begins later than this after the first one began. */
  readonly withinMs: number;
}

const ATTEMPTS = 4;
const FIRST_PAUSE_MS = 5;

/**
 * Deadlocks, serialisation failures, lock and statement timeouts are retried up to three times, with a growing and
 * random pause (two that met once must not meet again). All four are certain rollbacks, so a retry cannot double a
 * write. The last error is the caller's, as `STORE_FAULT`.
 */
export function createRetrying(options: RetryingOptions): Retrying {
  const { connections, clock, withinMs } = options;
  return {
    async run<R extends pg.QueryResultRow>(statement: Statement, values: readonly unknown[]): Promise<R[]> {
      const began = clock.monotonicMs();
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await connections.run<R>(statement, values);
        } catch (error) {
          const late = clock.monotonicMs() - began >= withinMs;
          if (attempt === ATTEMPTS || late || !isRetriable((error as Error).cause)) throw error;
          await sleep({ clock, delayMs: FIRST_PAUSE_MS * 3 ** attempt * Math.random() });
        }
      }
    },
  };
}
