import type { LeaseListing } from '@a2a-cluster/core';
import { isClusterError } from '@a2a-cluster/core';
import type { Beat, LeaseStatements, Renewed } from '../statements/lease-statements.js';
import type { SqliteLane } from './connection.js';
import { isBusyCode } from './busy.js';
import { CANCEL_AGE } from './reads.js';
import { NOW, idList, numberAt, numberOrNull, textAt } from './rows.js';
import type { SqlRow, SqliteSession } from './session.js';

/** Nothing is locked row by row here, so a beat renews all of its leases or waits for the file. */
const BEAT = `
UPDATE task_leases AS x SET expires_at = ${NOW} + CAST(? AS INTEGER)
 WHERE x.holder = ? AND (x.task_id, x.epoch) IN (SELECT value ->> 'taskId', value ->> 'epoch' FROM json_each(?))
RETURNING task_id, epoch, max(0, ${NOW} - cancel_requested_at) AS cancel_age_ms`;
const HOLDERS = `
SELECT x.task_id, x.holder, x.epoch FROM json_each(?) w CROSS JOIN task_leases x ON x.task_id = w.value`;
const OF_TURN = 'FROM task_leases WHERE task_id = ? AND holder = ? AND epoch = ?';
const RELEASE = `DELETE ${OF_TURN} AND cancel_requested_at IS NULL`;
const KEPT = `SELECT 1 ${OF_TURN}`;
const MARK = `
UPDATE task_leases SET cancel_requested_at = coalesce(cancel_requested_at, ${NOW}) WHERE task_id = ? AND epoch = ?
RETURNING max(0, ${NOW} - cancel_requested_at) AS cancel_age_ms`;
const EXPIRE = `UPDATE task_leases SET expires_at = min(expires_at, ${NOW}) WHERE task_id = ?`;
const NEXT = `SELECT min(expires_at) - ${NOW} AS next_ms FROM task_leases`;
const CLAMP = `
UPDATE task_leases SET expires_at = ${NOW} + CAST(? AS INTEGER) WHERE expires_at > ${NOW} + 2 * CAST(? AS INTEGER)`;
const LIST = `
SELECT x.task_id, x.tenant, x.owner, x.holder, x.epoch, x.pending, x.expires_at - ${NOW} AS remaining_ms,
       ${CANCEL_AGE} AS cancel_age_ms, max(0, ${NOW} - x.acquired_at) AS age_ms
  FROM task_leases x ORDER BY x.expires_at LIMIT ?`;

/** The lease statements on SQLite (protocol 5), on a lane of their own. */
export function createSqliteLeases(lane: SqliteLane): LeaseStatements {
  const write = <T>(name: string, work: (session: SqliteSession) => T, withinMs?: number): Promise<T> =>
    lane.run({ name, writes: true, work }, withinMs);
  const read = <T>(name: string, work: (session: SqliteSession) => T): Promise<T> =>
    lane.run({ name, writes: false, work });
  return {
    beat: async (beat) => (beat.leases.length === 0 ? [] : write('beat', (session) => renew(session, beat))),
    beatOne: async ({ lease, waitMs, holder, ttlMs }) => {
      const work = (session: SqliteSession) => renew(session, { holder, ttlMs, leases: [lease] })[0] ?? null;
      return write('beatOne', work, waitMs).catch(nullIfBusy);
    },
    readLeases: (taskIds) =>
      read('readLeases', (session) => session.all(HOLDERS, idList(taskIds)).map(toHolder)),
    release: ({ taskId, holder, epoch }) =>
      write('release', (session) => {
        if (session.run(RELEASE, taskId, holder, epoch) > 0) return 'released';
        return session.get(KEPT, taskId, holder, epoch) ? 'cancel_requested' : 'gone';
      }),
    markCancel: ({ taskId, epoch }) =>
      write('markCancel', (session) => {
        const row = session.get(MARK, taskId, epoch);
        return row ? { cancelAgeMs: numberAt(row, 'cancel_age_ms') } : null;
      }),
    expireNow: (taskId) => write('expireNow', (session) => session.run(EXPIRE, taskId) > 0),
    nextExpiry: () =>
      read('nextExpiry', (session) => numberOrNull(session.get(NEXT) ?? { next_ms: null }, 'next_ms')),
    clampFuture: (ttlMs) => write('clampFuture', (session) => session.run(CLAMP, ttlMs, ttlMs)),
    readClock: () =>
      read('readClock', (session) => ({
        nowMs: numberAt(session.get(`SELECT ${NOW} AS now_ms`) ?? {}, 'now_ms'),
        identity: 'sqlite',
      })),
    listLeases: (limit) => read('listLeases', (session) => session.all(LIST, limit).map(toListing)),
  };
}

function renew(session: SqliteSession, { holder, ttlMs, leases }: Beat): readonly Renewed[] {
  const wanted = JSON.stringify(leases.map(({ taskId, epoch }) => ({ taskId, epoch })));
  return session.all(BEAT, ttlMs, holder, wanted).map((row) => ({
    taskId: textAt(row, 'task_id'),
    epoch: numberAt(row, 'epoch'),
    cancelAgeMs: numberOrNull(row, 'cancel_age_ms'),
  }));
}

/** The file was locked all the time that the caller would wait. */
function nullIfBusy(error: unknown): null {
  if (isClusterError(error, 'STORE_FAULT') && isBusyCode(String(error.details['serverCode']))) return null;
  throw error;
}

function toHolder(row: SqlRow): { taskId: string; holder: string; epoch: number } {
  return { taskId: textAt(row, 'task_id'), holder: textAt(row, 'holder'), epoch: numberAt(row, 'epoch') };
}

function toListing(row: SqlRow): LeaseListing {
  return {
    ...toHolder(row),
    tenant: textAt(row, 'tenant'),
    owner: textAt(row, 'owner'),
    pending: numberAt(row, 'pending') !== 0,
    remainingMs: numberAt(row, 'remaining_ms'),
    cancelAgeMs: numberOrNull(row, 'cancel_age_ms'),
    ageMs: numberAt(row, 'age_ms'),
  };
}
