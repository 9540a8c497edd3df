import { errorText, sleep, type Clock, type LeaseListing, type Logger } from '@a2a-cluster/core';
import type { Overview } from '@a2a-cluster/console/api';
import type { ConsoleSource } from './source.js';

/** What only the database can count. */
export interface Counts {
  readonly live: Overview['live'];
  readonly leaseless: number;
  readonly push: Overview['push'];
  /** The leases next to expire, the expired ones first. */
  readonly leases: readonly LeaseListing[];
  readonly pushTask: { readonly dead?: string; readonly stuck?: string };
}

/** The counts, read at most so often, however many ask. */
export interface CountCache {
  /** What was read last; the same object until something else is read. */
  last(): Counts;
  /** Reads them again when they are old; waits for a moment, and not for a database that is away. Never rejects. */
  refresh(): Promise<void>;
}

/** Options of {@link createCountCache}. */
export interface CountCacheOptions {
  readonly source: ConsoleSource;
  readonly clock: Clock;
  readonly logger: Logger;
  /** They are read again when they are older. */
  readonly freshMs: number;
}

/** So long somebody waits for counts; then the last ones have to do. */
const PATIENCE_MS = 1_000;
/** The expired leases are the first; this many are enough to name whose they are. */
const MOST_LEASES = 200;

const NONE: Counts = { live: {}, leaseless: 0, push: null, leases: [], pushTask: {} };

/** Counts that nobody has read yet. */
export function createCountCache({ source, clock, logger, freshMs }: CountCacheOptions): CountCache {
  let counts = NONE;
  let readAtMs: number | null = null;
  let reading: Promise<void> | null = null;
  const read = async (): Promise<void> => {
    try {
      counts = await readCounts(source);
    } catch (error) {
      logger.debug({ reason: errorText(error) }, 'the counts of the console cannot be read');
    } finally {
      readAtMs = clock.monotonicMs();
      reading = null;
    }
  };
  return {
    last: () => counts,
    async refresh() {
      if (readAtMs !== null && clock.monotonicMs() - readAtMs < freshMs) return;
      reading ??= read();
      const waited = new AbortController();
      await Promise.race([reading, sleep({ clock, delayMs: PATIENCE_MS, signal: waited.signal })]);
      waited.abort();
    },
  };
}

async function readCounts(source: ConsoleSource): Promise<Counts> {
  const { operator } = source;
  const [{ live, leaseless }, leases, push] = await Promise.all([
    operator.tasks.counts(),
    operator.leases({ limit: MOST_LEASES }),
    source.status().push === null ? null : operator.push.counts(),
  ]);
  return { live, leaseless, leases, push, pushTask: await tasksInTrouble(operator, push) };
}

/** A task to show for each sort of trouble. */
async function tasksInTrouble(
  { push }: ConsoleSource['operator'],
  counts: Overview['push'],
): Promise<Counts['pushTask']> {
  if (counts === null) return {};
  const { deadLetters, disabled, retrying } = counts;
  const [letters, rows] = await Promise.all([
    deadLetters > 0 ? push.deadLetters({ limit: 50 }) : [],
    disabled + retrying > 0 ? push.deliveries({ limit: 200 }) : [],
  ]);
  const dead = letters.find(({ status }) => status === 'dead')?.taskId;
  const stuck = rows.find(({ status, attempts }) => status === 'disabled' || attempts > 0)?.taskId;
  return { ...(dead === undefined ? {} : { dead }), ...(stuck === undefined ? {} : { stuck }) };
}
