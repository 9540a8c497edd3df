import { isTerminalName } from '@a2a-cluster/core';
import { keyOf, toClaimed, type ClaimedRow, type KeyRow } from '../statements/push-queue-rows.js';
import {
  FORGOTTEN_AFTER_MS,
  LEAST_PUT_OFF_MS,
  MOST_PUT_OFF_MS,
  storableText,
} from '../statements/push-queue-rules.js';
import type {
  ClaimedPush,
  PushClaimant,
  PushKey,
  PushQueueStatements,
  PushSettlement,
} from '../statements/push-queue.js';
import type { SqliteLane } from './connection.js';
import { createSqliteDeadLetters } from './push-dead-letters.js';
import { createSqlitePushOperators } from './push-operators.js';
import { TERMINAL_LIST } from './reads.js';
import { NOW, idList, numberAt, numberOrNull, textAt } from './rows.js';
import type { SqlRow, SqliteSession } from './session.js';

/** The statements of push delivery on SQLite (protocol 9). What finds nothing to do takes no write lock. */
export function createSqlitePushQueue(lane: SqliteLane): PushQueueStatements {
  const write = <T>(name: string, work: (session: SqliteSession) => T): Promise<T> =>
    lane.run({ name, writes: true, work });
  const read = <T>(name: string, work: (session: SqliteSession) => T): Promise<T> =>
    lane.run({ name, writes: false, work });
  return {
    ...createSqliteDeadLetters(lane),
    ...createSqlitePushOperators(lane),
    claimOf: async ({ taskIds, exceptOrigins = [], ...claimant }) => {
      const ids = idList([...new Set(taskIds)]);
      const known = await read('knownPushes', (session) => session.all(KNOWN, ids));
      const claim = (session: SqliteSession): ClaimedPush[] =>
        take(session, claimant, session.all(FREE_OF, ids, idList(exceptOrigins)));
      return {
        claimed: known.length === 0 ? [] : await write('claimPushesOf', claim),
        known: known.map((row) => textAt(row, 'task_id')),
      };
    },
    claimDue: async (claim) => {
      const due = (session: SqliteSession): SqlRow[] =>
        session.all(DUE, idList(claim.exceptOrigins), ...onlyOf(claim.onlyOrigins), claim.limit);
      if (!(await read('duePushes', (session) => due(session).length > 0))) return { claimed: [], seen: 0 };
      return write('claimDuePushes', (session) => {
        const rows = due(session);
        return { claimed: claimRows(session, claim, rows), seen: rows.length };
      });
    },
    settle: async (settlements) =>
      settlements.length === 0 ? [] : write('settlePushes', (session) => settle(session, settlements)),
    storeBody: ({ taskId, configId, claim, seq, body }) =>
      write('storePushBody', (session) => session.run(BODY, seq, body, taskId, configId, claim) > 0),
  };
}

const CLAIMED = `c.rowid AS row, c.task_id, c.config_id, c.tenant, c.owner, c.payload, c.wire_version, c.origin,
       c.claim + 1 AS claim, c.position, c.attempts, c.body_seq, c.body,
       max(0, coalesce(${NOW} - c.failing_since, 0)) AS failing_for_ms, t.version, t.state`;

const KNOWN = `
SELECT DISTINCT c.task_id FROM json_each(?) w CROSS JOIN push_notification_configs c ON c.task_id = w.value
 WHERE c.status = 'active'`;
const FREE_OF = `
SELECT ${CLAIMED}
  FROM json_each(?) w CROSS JOIN push_notification_configs c ON c.task_id = w.value
  JOIN tasks t ON t.id = c.task_id AND t.tenant = c.tenant AND t.owner = c.owner
 WHERE c.status = 'active' AND t.version > c.position
   AND (c.due_at <= ${NOW} OR (c.holder IS NULL AND c.attempts = 0))
   AND c.origin NOT IN (SELECT value FROM json_each(?))`;
const DUE = `
SELECT ${CLAIMED}, ${NOW} - c.changed_at AS unchanged_ms
  FROM push_notification_configs c LEFT JOIN tasks t
       ON t.id = c.task_id AND t.tenant = c.tenant AND t.owner = c.owner
 WHERE c.due_at <= ${NOW} AND c.origin NOT IN (SELECT value FROM json_each(?))
   AND (? OR c.origin IN (SELECT value FROM json_each(?))) ORDER BY c.due_at LIMIT ?`;

const OF_ROWS = 'WHERE rowid IN (SELECT value FROM json_each(?))';
const TAKE = `
UPDATE push_notification_configs SET holder = ?, claim = claim + 1, due_at = ${NOW} + CAST(? AS INTEGER) ${OF_ROWS}`;
const FINISH = `UPDATE push_notification_configs SET status = 'done', holder = NULL, due_at = NULL ${OF_ROWS}`;
const FORGET = `DELETE FROM push_notification_configs ${OF_ROWS}`;
/** See `putOffMs`. */
const putOff = (changedAt: string): string =>
  `${NOW} + min(${MOST_PUT_OFF_MS}, max(${LEAST_PUT_OFF_MS}, (${NOW} - ${changedAt}) / 4))`;
const PUT_OFF = `UPDATE push_notification_configs SET holder = NULL, due_at = ${putOff('changed_at')} ${OF_ROWS}`;

/** Whether every origin will do, and the list of those that will. */
function onlyOf(origins: readonly string[] | undefined): [number, string] {
  return [origins === undefined ? 1 : 0, idList(origins ?? [])];
}

function rowList(rows: readonly SqlRow[]): string {
  return JSON.stringify(rows.map((row) => numberAt(row, 'row')));
}

function take(session: SqliteSession, claimant: PushClaimant, rows: readonly SqlRow[]): ClaimedPush[] {
  if (rows.length === 0) return [];
  session.run(TAKE, claimant.holder, claimant.ttlMs, rowList(rows));
  return rows.flatMap((row) => toClaimed(row as unknown as ClaimedRow));
}

/** Claims those of the due that have events; for the others see `claimDue`. */
function claimRows(session: SqliteSession, claimant: PushClaimant, rows: readonly SqlRow[]): ClaimedPush[] {
  const kinds: Record<'waits' | 'done' | 'forgotten' | 'idle', SqlRow[]> = {
    ...{ waits: [], done: [], forgotten: [], idle: [] },
  };
  for (const row of rows) kinds[kindOf(row)].push(row);
  if (kinds.done.length > 0) session.run(FINISH, rowList(kinds.done));
  if (kinds.forgotten.length > 0) session.run(FORGET, rowList(kinds.forgotten));
  if (kinds.idle.length > 0) session.run(PUT_OFF, rowList(kinds.idle));
  return take(session, claimant, kinds.waits);
}

function kindOf(row: SqlRow): 'waits' | 'done' | 'forgotten' | 'idle' {
  const version = numberOrNull(row, 'version');
  if (version === null) return numberAt(row, 'unchanged_ms') > FORGOTTEN_AFTER_MS ? 'forgotten' : 'idle';
  if (version > numberAt(row, 'position')) return 'waits';
  return isTerminalName(textAt(row, 'state')) ? 'done' : 'idle';
}

/** One statement for all of them. MATERIALIZED, or SQLite reads the configs from end to end to find theirs. */
const SETTLE = `
WITH s AS MATERIALIZED (
  SELECT value ->> 'taskId' AS task_id, value ->> 'configId' AS config_id, value ->> 'claim' AS claim,
         value ->> 'position' AS position, value ->> 'delivered' AS delivered, value ->> 'kind' AS kind,
         value ->> 'ms' AS ms, value ->> 'error' AS error FROM json_each(?)),
j AS MATERIALIZED (
  SELECT c.rowid AS row, max(c.position, s.position) AS position, s.delivered, s.error, s.ms,
         s.delivered OR coalesce(c.body_seq <= s.position, 0) AS cleared,
         CASE WHEN s.position > c.position THEN ${NOW} ELSE c.changed_at END AS changed_at,
         CASE WHEN s.kind <> 'release' THEN s.kind WHEN t.version > max(c.position, s.position) THEN 'due'
              WHEN t.state IN (${TERMINAL_LIST}) THEN 'done' ELSE 'put off' END AS next
    FROM s CROSS JOIN push_notification_configs c ON c.task_id = s.task_id AND c.config_id = s.config_id
    LEFT JOIN tasks t ON t.id = c.task_id
   WHERE c.claim = s.claim AND c.holder IS NOT NULL)
UPDATE push_notification_configs AS c
   SET position = j.position,
       changed_at = j.changed_at,
       attempts = CASE WHEN j.delivered THEN 0 ELSE c.attempts END + (j.next = 'retry'),
       failing_since = coalesce(CASE WHEN NOT j.delivered THEN c.failing_since END,
                                CASE WHEN j.next = 'retry' THEN ${NOW} END),
       last_error = coalesce(j.error, CASE WHEN NOT j.delivered THEN c.last_error END),
       body_seq = CASE WHEN NOT j.cleared THEN c.body_seq END,
       body = CASE WHEN NOT j.cleared THEN c.body END,
       status = CASE j.next WHEN 'disable' THEN 'disabled' WHEN 'done' THEN 'done' ELSE c.status END,
       holder = CASE WHEN j.next = 'keep' THEN c.holder END,
       due_at = CASE WHEN j.next IN ('keep', 'retry') THEN ${NOW} + CAST(j.ms AS INTEGER) WHEN j.next = 'due' THEN ${NOW}
                     WHEN j.next = 'put off' THEN ${putOff('j.changed_at')} END
  FROM j
 WHERE c.rowid = j.row
RETURNING task_id, config_id`;

function settle(session: SqliteSession, settlements: readonly PushSettlement[]): readonly PushKey[] {
  const list = settlements.map(({ next, ...rest }) => ({
    ...rest,
    kind: next.kind,
    ms: Math.ceil(next.kind === 'keep' ? next.ttlMs : next.kind === 'retry' ? next.delayMs : 0),
    error: 'error' in next ? storableText(next.error) : null,
  }));
  return session.all(SETTLE, JSON.stringify(list)).map((row) => keyOf(row as unknown as KeyRow));
}

const HELD = 'task_id = ? AND config_id = ? AND claim = ? AND holder IS NOT NULL';
const BODY = `UPDATE push_notification_configs SET body_seq = ?, body = ? WHERE ${HELD}`;
