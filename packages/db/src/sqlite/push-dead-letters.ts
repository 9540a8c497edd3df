import {
  toDeadLetter,
  toDeadListing,
  type DeadListRow,
  type DeadRow,
} from '../statements/push-queue-rows.js';
import { storableText } from '../statements/push-queue-rules.js';
import type { ClaimedDeadLetter, PushQueueStatements } from '../statements/push-queue.js';
import type { SqliteLane } from './connection.js';
import { NOW, numberAt } from './rows.js';
import type { SqliteSession } from './session.js';

type DeadLetterStatements = Pick<
  PushQueueStatements,
  'bury' | 'claimDeadLetters' | 'settleDeadLetter' | 'listDeadLetters'
>;

/** The dead letters on SQLite. */
export function createSqliteDeadLetters(lane: SqliteLane): DeadLetterStatements {
  return {
    bury: (letter) => lane.run({ name: 'buryPush', writes: true, work: (session) => bury(session, letter) }),
    claimDeadLetters: async (claim) => {
      const due = (session: SqliteSession) => session.all(DUE, claim.limit);
      const found = { name: 'dueDeadLetters', writes: false, work: (s: SqliteSession) => due(s).length };
      if ((await lane.run(found)) === 0) return [];
      return lane.run({
        name: 'claimDeadLetters',
        writes: true,
        work: (session): ClaimedDeadLetter[] => {
          const rows = due(session);
          for (const row of rows) session.run(TAKE, claim.holder, claim.ttlMs, numberAt(row, 'row'));
          return rows.map((row) => toDeadLetter(row as unknown as DeadRow));
        },
      });
    },
    settleDeadLetter: ({ taskId, configId, seq, claim, error }) => {
      const text = error === null ? null : storableText(error);
      const work = (session: SqliteSession): boolean =>
        session.run(SETTLE, text, text, text, taskId, configId, seq, claim) > 0;
      return lane.run({ name: 'settleDeadLetter', writes: true, work });
    },
    listDeadLetters: ({ taskId, limit }) =>
      lane.run({
        name: 'listDeadLetters',
        writes: false,
        work: (session) => {
          const rows = taskId === undefined ? session.all(LIST, limit) : session.all(LIST_OF, taskId, limit);
          return rows.map((row) => toDeadListing(row as unknown as DeadListRow));
        },
      }),
  };
}

const PASS = `
UPDATE push_notification_configs
   SET position = max(position, ?), changed_at = ${NOW}, attempts = 0, failing_since = NULL, last_error = NULL,
       body_seq = NULL, body = NULL, due_at = ${NOW} + CAST(? AS INTEGER)
 WHERE task_id = ? AND config_id = ? AND claim = ? AND holder IS NOT NULL`;
const BURY = `
INSERT INTO push_dead_letters (task_id, config_id, seq, tenant, owner, attempts, error, body, content_type)
SELECT task_id, config_id, ?, tenant, owner, ?, ?, ?, ? FROM push_notification_configs
 WHERE task_id = ? AND config_id = ?
ON CONFLICT (task_id, config_id, seq) DO UPDATE
   SET tenant = excluded.tenant, owner = excluded.owner, attempts = excluded.attempts, error = excluded.error,
       body = excluded.body, content_type = excluded.content_type, died_at = excluded.died_at, due_at = NULL,
       holder = NULL, delivered_at = NULL`;

function bury(session: SqliteSession, letter: Parameters<PushQueueStatements['bury']>[0]): boolean {
  const { taskId, configId, claim, seq, ttlMs, attempts, error, body, contentType } = letter;
  if (session.run(PASS, seq, ttlMs, taskId, configId, claim) === 0) return false;
  session.run(BURY, seq, attempts, storableText(error), body, contentType, taskId, configId);
  return true;
}

const OF_CONFIG = 'JOIN push_notification_configs c ON c.task_id = d.task_id AND c.config_id = d.config_id';
const DUE = `
SELECT d.rowid AS row, d.task_id, d.config_id, d.seq, d.tenant, d.owner, d.attempts, d.error, d.body, d.content_type,
       d.claim + 1 AS claim, c.payload, c.wire_version, c.origin
  FROM push_dead_letters d ${OF_CONFIG}
 WHERE d.due_at <= ${NOW} ORDER BY d.due_at LIMIT ?`;
const TAKE = `
UPDATE push_dead_letters SET holder = ?, claim = claim + 1, due_at = ${NOW} + CAST(? AS INTEGER) WHERE rowid = ?`;
const SETTLE = `
UPDATE push_dead_letters
   SET delivered_at = CASE WHEN ? IS NULL THEN ${NOW} END, error = coalesce(?, error),
       attempts = attempts + (? IS NOT NULL), due_at = NULL, holder = NULL
 WHERE task_id = ? AND config_id = ? AND seq = ? AND claim = ? AND holder IS NOT NULL`;

const LISTED = `
SELECT d.task_id, d.config_id, d.tenant, d.owner, coalesce(c.url, '') AS url, d.seq, d.attempts, d.error,
       max(0, ${NOW} - d.died_at) AS age_ms, d.due_at IS NOT NULL AS queued, d.delivered_at IS NOT NULL AS delivered
  FROM push_dead_letters d LEFT ${OF_CONFIG}`;
const LIST = `${LISTED} ORDER BY d.died_at DESC LIMIT ?`;
const LIST_OF = `${LISTED} WHERE d.task_id = ? ORDER BY d.died_at DESC, d.config_id DESC, d.seq DESC LIMIT ?`;
