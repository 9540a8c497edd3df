import pg from 'pg';
import { FAILURE_TEXT } from '@a2a-cluster/core';
import type { Database, SweepBatch } from '@a2a-cluster/db';
import { EMBEDDED_SWEEP_BATCH, DEFAULT_SWEEP_BATCH } from '@a2a-cluster/sweeper';
import { startCapture } from '@a2a-cluster/testing';

/** The sweep without a sweeper: its statements one after the other until none is left. */
export interface BareSweep {
  readonly says: string;
  all(): Promise<void>;
  close(): Promise<void>;
}

/** By the bare driver on PostgreSQL, where a sweep is one statement; else by the statements of the package alone. */
export async function openBareSweep(database: Database, url: string): Promise<BareSweep> {
  const limit = database.provider === 'sqlite' ? EMBEDDED_SWEEP_BATCH : DEFAULT_SWEEP_BATCH;
  const statusTimestamp = new Date().toISOString();
  const batch = { limit, sweeper: 'bare', statusTimestamp, text: FAILURE_TEXT.replica_lost };
  if (database.provider === 'postgresql') return onPostgres({ database, url, batch });
  return {
    says: `the same statements in batches of ${limit}, by the package that holds them`,
    all: async () => {
      for (let swept = limit; swept === limit;) swept = (await database.journal.sweep(batch)).swept.length;
    },
    close: async () => {},
  };
}

async function onPostgres(parts: {
  readonly database: Database;
  readonly url: string;
  readonly batch: SweepBatch;
}): Promise<BareSweep> {
  const { database, url, batch } = parts;
  const { text, values } = await overheard(() => database.journal.sweep(batch));
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return {
    says: `the same statement in batches of ${batch.limit}, by bare pg`,
    all: async () => {
      for (let swept = batch.limit; swept === batch.limit;)
        swept = (await client.query<{ id: unknown }>({ name: 'bare_sweep', text, values })).rows.filter(
          ({ id }) => id !== null,
        ).length;
    },
    close: () => client.end(),
  };
}

/** The one statement that some work sends, word for word: a copy here would soon be another one. */
async function overheard(work: () => Promise<unknown>): Promise<{ text: string; values: unknown[] }> {
  const capture = startCapture('postgresql');
  try {
    await work();
  } finally {
    capture.stop();
  }
  const [sent, ...more] = capture.take();
  if (sent === undefined || more.length > 0) throw new Error('the sweep is not one statement');
  return { text: sent.sql, values: [...sent.values] };
}
