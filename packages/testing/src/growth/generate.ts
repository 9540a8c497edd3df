import { openRaw, providerOfUrl, type RawConnection } from '../raw-connection.js';
import { dialects, type Dialect } from './dialect.js';
import {
  deadLetterRows,
  eventRows,
  leaseRows,
  pushConfigRows,
  snapshotRows,
  taskRows,
  type RowSource,
} from './rows.js';
import type { GrowthSize } from './sizes.js';

/** Tasks per INSERT: small enough that no undo log and no journal file grows large. */
const BATCH = 50_000;

/**
 * Fills an empty, migrated database with ended tasks, their events and some running turns, all made by the database
 * itself; then lets it gather statistics and, on PostgreSQL, mark the pages that index-only scans need not visit.
 */
export async function growDatabase(url: string, size: GrowthSize): Promise<void> {
  const dialect = dialects[providerOfUrl(url)];
  const raw = await openRaw(url);
  try {
    for (const statement of dialect.prepare) await raw.run(statement);
    const all = size.endedTasks + size.leases;
    for (let from = 1; from <= all; from += BATCH)
      await insertTasks({ raw, dialect, size, from, to: Math.min(all, from + BATCH - 1) });
    // What a server does by itself in time: statistics, and the visibility map of PostgreSQL.
    for (const statement of dialect.settle) await raw.run(statement);
  } finally {
    await raw.close();
  }
}

async function insertTasks(part: {
  readonly raw: RawConnection;
  readonly dialect: Dialect;
  readonly size: GrowthSize;
  readonly from: number;
  readonly to: number;
}): Promise<void> {
  const { raw, dialect, size, from, to } = part;
  const insert = async (rows: RowSource, range: readonly [number, number], more = ''): Promise<void> => {
    const [first, last] = range;
    if (last < first) return;
    const columns = Object.keys(rows.columns).join(', ');
    const values = Object.values(rows.columns).join(', ');
    const numbers = dialect.numbers(first, last);
    await raw.run(`INSERT INTO ${rows.table} (${columns}) SELECT ${values} FROM ${numbers}${more}`);
  };
  const ended = [from, Math.min(to, size.endedTasks)] as const;
  const running = [Math.max(from, size.endedTasks + 1), to] as const;
  const seqs = Array.from({ length: size.eventsPerTask }, (_, index) => `SELECT ${index + 1} AS seq`);
  await insert(taskRows(dialect, size), [from, to]);
  await insert(snapshotRows(size), ended);
  await insert(eventRows(), [from, to], ` CROSS JOIN (${seqs.join(' UNION ALL ')}) s`);
  await insert(leaseRows(dialect, size), running);
  await insert(pushConfigRows(dialect, size), [from, to]);
  await insert(deadLetterRows(dialect), [from, to], ' WHERE n % 10 = 3');
}
