import type { LeaseListing } from '@a2a-cluster/core';
import type { LeaseStatements, ReleaseOutcome, ServerClock } from '../statements/lease-statements.js';
import { beat, beatOne, setExpiry } from './beat.js';
import type { Pool } from './pool.js';
import { read, write } from './reads.js';
import { CANCEL_US, REMAINING_US, leaseOf, msOrNullAt, numberAt, textAt } from './rows.js';
import { storeFault } from './faults.js';
import { statement } from './texts.js';
import { transact } from './transaction.js';
import { microseconds } from './writes.js';

/** What {@link createLeases} is made of. */
export interface LeaseOptions {
  /** Two connections for renewals and what goes with them: nothing here ever waits for a row lock. */
  readonly beats: Pool;
  /** For the statements that may wait for a row lock: two of these must not hold up the renewals. */
  readonly others: Pool;
}

/** Leases are cut back in steps of this many. */
const CLAMP_BATCH = 500;

/** The lease statements on MySQL and MariaDB (protocol 5). */
export function createLeases({ beats, others }: LeaseOptions): LeaseStatements {
  return {
    beat: (request) => beat(beats, request),
    beatOne: (request) => beatOne(beats, request),
    async readLeases(taskIds) {
      if (taskIds.length === 0) return [];
      const rows = await read(
        beats,
        statement(
          'SELECT task_id, holder, epoch FROM task_leases FORCE INDEX (PRIMARY) WHERE task_id IN (?)',
          taskIds,
        ),
      );
      return rows.map((row) => ({
        taskId: textAt(row, 'task_id'),
        holder: textAt(row, 'holder'),
        epoch: numberAt(row, 'epoch'),
      }));
    },
    release: (lease) => release(others, lease),
    async markCancel({ taskId, epoch }) {
      const mark = `UPDATE task_leases SET cancel_requested_at = COALESCE(cancel_requested_at, SYSDATE(3))
        WHERE task_id = ? AND epoch = ?`;
      if ((await write(others, statement(mark, taskId, epoch))) === 0) return null;
      const age = `SELECT ${CANCEL_US} AS cancel_us FROM task_leases l WHERE task_id = ? AND epoch = ?`;
      const row = (await read(others, statement(age, taskId, epoch)))[0];
      const cancelAgeMs = row ? msOrNullAt(row, 'cancel_us') : null;
      return cancelAgeMs === null ? null : { cancelAgeMs };
    },
    async expireNow(taskId) {
      // One millisecond ago, the column's finest step: a sweep that starts now must find it expired.
      const sql = `UPDATE task_leases SET expires_at = LEAST(expires_at, SYSDATE(3) - INTERVAL 1000 MICROSECOND)
        WHERE task_id = ?`;
      return (await write(others, statement(sql, taskId))) > 0;
    },
    async nextExpiry() {
      const sql =
        'SELECT TIMESTAMPDIFF(MICROSECOND, SYSDATE(6), MIN(expires_at)) AS rest_us FROM task_leases';
      const row = (await read(beats, statement(sql)))[0];
      return row ? msOrNullAt(row, 'rest_us') : null;
    },
    clampFuture: (ttlMs) => clampFuture(beats, ttlMs),
    readClock: () => readClock(beats),
    listLeases: (limit) => listLeases(others, limit),
  };
}

/**
 * One trip unless nothing was deleted. What is there after that is a marked row: a mark is never taken back, and no
 * row comes again.
 */
async function release(
  pool: Pool,
  { taskId, holder, epoch }: Parameters<LeaseStatements['release']>[0],
): Promise<ReleaseOutcome> {
  const ofTurn = 'FROM task_leases WHERE task_id = ? AND holder = ? AND epoch = ?';
  const unmarked = statement(`DELETE ${ofTurn} AND cancel_requested_at IS NULL`, taskId, holder, epoch);
  if ((await write(pool, unmarked)) > 0) return 'released';
  const rows = await read(pool, statement(`SELECT task_id ${ofTurn}`, taskId, holder, epoch));
  return rows.length > 0 ? 'cancel_requested' : 'gone';
}

/** A lease that is locked just now is left: it is being renewed, or the next call finds it. */
async function clampFuture(pool: Pool, ttlMs: number): Promise<number> {
  const beyond = 'expires_at > NOW(6) + INTERVAL ? MICROSECOND';
  const beyondUs = microseconds(2 * ttlMs);
  const find = `SELECT task_id FROM task_leases WHERE ${beyond} LIMIT ?`;
  const lock = `SELECT task_id FROM task_leases FORCE INDEX (PRIMARY) WHERE task_id IN (?) AND ${beyond}
    ORDER BY task_id FOR UPDATE SKIP LOCKED`;
  let total = 0;
  for (;;) {
    const found = (await read(pool, statement(find, beyondUs, CLAMP_BATCH))).map((row) =>
      textAt(row, 'task_id'),
    );
    if (found.length === 0) return total;
    const cut = await transact(pool, async (tx) => {
      const [rows = []] = await tx.read(statement(lock, found, beyondUs));
      const taskIds = rows.map((row) => textAt(row, 'task_id'));
      if (taskIds.length > 0) await tx.commit([setExpiry(taskIds, ttlMs)]);
      return taskIds.length;
    });
    total += cut;
    if (cut === 0 || found.length < CLAMP_BATCH) return total;
  }
}

async function readClock(pool: Pool): Promise<ServerClock> {
  try {
    return await pool.use(async (session) => {
      // MariaDB has no server_uuid; host, port and server_id tell its servers apart.
      const uuid = session.isMariaDb ? `''` : '@@server_uuid';
      const sql = `SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)) AS now_us,
        CONCAT_WS('|', @@hostname, @@port, @@server_id, ${uuid}, @@read_only) AS identity`;
      const [row] = (await session.query(sql)) as Record<string, unknown>[];
      return { nowMs: numberAt(row ?? {}, 'now_us') / 1_000, identity: textAt(row ?? {}, 'identity') };
    });
  } catch (error) {
    throw storeFault(error);
  }
}

async function listLeases(pool: Pool, limit: number): Promise<readonly LeaseListing[]> {
  const rows = await read(
    pool,
    statement(
      `SELECT l.task_id, l.tenant, l.owner, l.holder, l.epoch, l.pending, ${REMAINING_US} AS remaining_us,
        ${CANCEL_US} AS cancel_us, TIMESTAMPDIFF(MICROSECOND, l.acquired_at, SYSDATE(6)) AS age_us
        FROM task_leases l ORDER BY l.expires_at, l.task_id LIMIT ?`,
      limit,
    ),
  );
  return rows.flatMap((row) => {
    const lease = leaseOf(row);
    if (!lease) return [];
    const ageMs = numberAt(row, 'age_us') / 1_000;
    return [
      {
        taskId: textAt(row, 'task_id'),
        tenant: textAt(row, 'tenant'),
        owner: textAt(row, 'owner'),
        ageMs,
        ...lease,
      },
    ];
  });
}
