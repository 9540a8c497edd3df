import { sleep } from '@a2a-cluster/core';
import type { Beat, LeaseStatements, Renewed } from '../statements/lease-statements.js';
import type { Pool } from './pool.js';
import { read } from './reads.js';
import { CANCEL_US, msOrNullAt, numberAt, textAt } from './rows.js';
import { statement, type Statement } from './texts.js';
import { transact } from './transaction.js';
import { microseconds } from './writes.js';

/** Leases renewed in one transaction; longer lists take several. More: commits wait longer for the leases it locks. */
const BEAT_BATCH = 1_000;

/** How often a locked lease is tried again (protocol 5). */
const RETRY_MS = 50;

/**
 * Rows that somebody else has locked are passed over, not waited for: a commit in flight, or a foreign lock, must
 * not hold up the other leases. Locked in task order, by key alone: see FORCE INDEX in the sweep.
 */
const LOCK = `SELECT l.task_id, l.epoch, ${CANCEL_US} AS cancel_us FROM task_leases l FORCE INDEX (PRIMARY)
  WHERE l.task_id IN (?) AND l.holder = ? ORDER BY l.task_id FOR UPDATE SKIP LOCKED`;

/** Sets locked leases to now + ttl. */
export function setExpiry(taskIds: readonly string[], ttlMs: number): Statement {
  return statement(
    `UPDATE task_leases FORCE INDEX (PRIMARY) SET expires_at = SYSDATE(3) + INTERVAL ? MICROSECOND
      WHERE task_id IN (?)`,
    microseconds(ttlMs),
    taskIds,
  );
}

/** Renews the listed leases, whatever `expires_at` says; the answer names those that were. */
export async function beat(pool: Pool, { holder, ttlMs, leases }: Beat): Promise<readonly Renewed[]> {
  const renewed: Renewed[] = [];
  for (let from = 0; from < leases.length; from += BEAT_BATCH)
    renewed.push(
      ...(await beatBatch(pool, { holder, ttlMs, leases: leases.slice(from, from + BEAT_BATCH) })),
    );
  return renewed;
}

async function beatBatch(pool: Pool, { holder, ttlMs, leases }: Beat): Promise<readonly Renewed[]> {
  const epochs = new Map(leases.map(({ taskId, epoch }) => [taskId, epoch]));
  return transact(pool, async (tx) => {
    const [rows = []] = await tx.read(statement(LOCK, [...epochs.keys()], holder));
    const renewed = rows
      .map((row) => ({
        taskId: textAt(row, 'task_id'),
        epoch: numberAt(row, 'epoch'),
        cancelAgeMs: msOrNullAt(row, 'cancel_us'),
      }))
      .filter(({ taskId, epoch }) => epochs.get(taskId) === epoch);
    if (renewed.length === 0) return [];
    const taskIds = renewed.map(({ taskId }) => taskId);
    await tx.commit([setExpiry(taskIds, ttlMs)]);
    return renewed;
  });
}

/** Renews one lease, asking again while somebody has it locked, at most `waitMs`. */
export async function beatOne(
  pool: Pool,
  request: Parameters<LeaseStatements['beatOne']>[0],
): Promise<Renewed | null> {
  const { holder, ttlMs, lease, waitMs } = request;
  const { clock } = pool;
  const giveUpMs = clock.monotonicMs() + waitMs;
  for (;;) {
    const [renewed] = await beatBatch(pool, { holder, ttlMs, leases: [lease] });
    if (renewed) return renewed;
    const restMs = giveUpMs - clock.monotonicMs();
    if (restMs <= 0 || !(await isOurs(pool, request))) return null;
    await sleep({ clock, delayMs: Math.min(RETRY_MS, restMs) });
  }
}

async function isOurs(pool: Pool, request: Parameters<LeaseStatements['beatOne']>[0]): Promise<boolean> {
  const { holder, lease } = request;
  const sql = 'SELECT holder, epoch FROM task_leases WHERE task_id = ?';
  const row = (await read(pool, statement(sql, lease.taskId)))[0];
  return row?.['holder'] === holder && row['epoch'] === lease.epoch;
}
