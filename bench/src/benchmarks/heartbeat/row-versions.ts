import { setTimeout as pause } from 'node:timers/promises';
import { openRaw, type RawConnection } from '@a2a-cluster/testing';
import type { BenchContext, Figure } from '../../benchmark.js';
import { median, spreadOf } from '../../harness/statistics.js';
import { holdLeases } from './held-leases.js';

/** How many beats of how many leases. */
interface Beats {
  readonly beats: number;
  readonly leases: number;
}

/** PostgreSQL tells what a connection did a second later, or when it ends. */
const STATISTICS_MS = 10_000;

/** What beats leave behind on PostgreSQL: row versions outside of their page, and WAL. Nothing is vacuumed. */
export async function beatRowVersions(context: BenchContext, load: Beats): Promise<readonly Figure[]> {
  const { beats, leases } = load;
  const url = await context.freshDatabase();
  const raw = await openRaw(url);
  context.cleanUp(() => raw.close());
  const held = await holdLeases({ context, url, holder: 'ours', count: leases });
  const bytes: number[] = [];
  for (let beat = 0; beat < beats; beat += 1) {
    const before = await walPosition(raw);
    await held.beat();
    bytes.push(((await walPosition(raw)) - before) / leases);
  }
  await held.close();
  const { updated, hot } = await updatesOf(raw, beats * leases);
  const [table] = await raw.query(`SELECT pg_relation_size('task_leases')::int AS bytes,
    current_setting('autovacuum') AS autovacuum`);
  return [
    {
      figure: `${beats} beats of ${leases} leases: heap-only updates, no older snapshot open`,
      unit: '%',
      value: (100 * hot) / updated,
      bar: { op: '>=', limit: 95 },
      baseline: 'pg_stat_user_tables of a fresh database; an index on expires_at would make it 0',
      spread: null,
      detail: {
        updates: updated,
        'table KiB after': Number(table?.['bytes']) / 1024,
        autovacuum: String(table?.['autovacuum']),
      },
    },
    {
      figure: `WAL of one renewal among ${leases}`,
      unit: 'bytes',
      value: median(bytes),
      bar: null,
      baseline: 'the position of the WAL before and after a beat; the median leaves page images out',
      spread: spreadOf(bytes),
    },
  ];
}

async function walPosition(raw: RawConnection): Promise<number> {
  const [row] = await raw.query(`SELECT (pg_current_wal_lsn() - '0/0')::float8 AS at`);
  return Number(row?.['at']);
}

async function updatesOf(raw: RawConnection, expected: number): Promise<{ updated: number; hot: number }> {
  const sql = `SELECT n_tup_upd::int AS updated, n_tup_hot_upd::int AS hot FROM pg_stat_user_tables
    WHERE relname = 'task_leases'`;
  for (let waitedMs = 0; waitedMs < STATISTICS_MS; waitedMs += 50) {
    const [row] = await raw.query(sql);
    const found = { updated: Number(row?.['updated']), hot: Number(row?.['hot']) };
    if (found.updated >= expected) return found;
    await pause(50);
  }
  throw new Error(`the statistics never told of ${expected} updates`);
}
