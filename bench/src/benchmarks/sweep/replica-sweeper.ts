import { createSilentLogger, createSystemClock, sleep } from '@a2a-cluster/core';
import { createDatabase, type Database } from '@a2a-cluster/db';
import { createEventStream } from '@a2a-cluster/event-stream';
import { createClockWatch, resolveLeaseOptions } from '@a2a-cluster/lease-store';
import {
  createAbandonedTaskSweeper,
  EMBEDDED_SWEEP_BATCH,
  EMBEDDED_SWEEP_REST,
  type AbandonedTaskSweeper,
} from '@a2a-cluster/sweeper';
import { createJournal } from '@a2a-cluster/task-store';
import type { BenchContext } from '../../benchmark.js';

/** What sweeps on one replica, put together as `createCluster` does. */
export interface ReplicaSweeper {
  readonly database: Database;
  /**
   * Reads the database's clock for the first time, as a replica does when it starts. Gives what sweeps: passes until
   * there is no expired lease left that somebody else had locked. To be called soon, or the silence in between looks
   * like an outage, after which nothing is claimed for a while.
   */
  ready(): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/** What `createCluster` sets where the database runs in this process. */
const EMBEDDED = { batchSize: EMBEDDED_SWEEP_BATCH, restShare: EMBEDDED_SWEEP_REST };

/** What a sweeper waits for a locked row at first. */
const LOCKED_WAIT_MS = 50;

const clock = createSystemClock();
const logger = createSilentLogger();
const lease = resolveLeaseOptions();

/** Opens one replica's sweeper with connections of its own. */
export async function openReplicaSweeper(
  context: Pick<BenchContext, 'cleanUp'>,
  replica: {
    readonly url: string;
    readonly holder: string;
    readonly poolSize: number;
    readonly restShare?: number;
  },
): Promise<ReplicaSweeper> {
  const { url, holder, poolSize, restShare } = replica;
  const database = await createDatabase({ url, ttlMs: lease.ttlMs, poolSize, logger });
  const stream = createEventStream({ database, clock, logger });
  await stream.start();
  const closing = { done: null as Promise<void> | null };
  const close = (): Promise<void> => (closing.done ??= stream.close().then(() => database.close()));
  context.cleanUp(close);
  const journal = createJournal({
    database,
    clock,
    logger,
    holder,
    ttlMs: lease.ttlMs,
    onCommitted: (committed) => stream.committed(committed),
  });
  const ready = async (): Promise<() => Promise<void>> => {
    const { leases } = database;
    const clockWatch = createClockWatch({ leases, options: lease, clock, logger });
    await clockWatch.observe();
    const sweeper = createAbandonedTaskSweeper({
      journal,
      leases,
      clockWatch,
      sweeperId: holder,
      options: { ...lease, ...(database.provider === 'sqlite' ? EMBEDDED : { restShare }) },
      clock,
      logger,
    });
    return () => sweepAll(sweeper);
  };
  return { database, ready, close };
}

async function sweepAll(sweeper: AbandonedTaskSweeper): Promise<void> {
  for (;;) {
    const { quiet, skipped } = await sweeper.runOnce();
    if (quiet)
      throw new Error('the sweeper claims nothing: it takes a pause of this benchmark for an outage');
    if (skipped === 0) return;
    await sleep({ clock, delayMs: LOCKED_WAIT_MS });
  }
}
