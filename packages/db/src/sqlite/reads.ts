import { TERMINAL_STATE_NAMES, type Scope } from '@a2a-cluster/core';
import type { Look } from '../statements/journal-statements.js';
import { NOW, numberAt, numberOrNull, textAt } from './rows.js';
import type { SqlRow, SqliteSession } from './session.js';

/** The terminal states as a list for `IN`. */
export const TERMINAL_LIST = TERMINAL_STATE_NAMES.map((name) => `'${name}'`).join(', ');

/** Milliseconds since a lease's cancel mark, or null. Not below 0, should the clock step back. */
export const CANCEL_AGE = `max(0, ${NOW} - x.cancel_requested_at)`;

const LOOK = `
SELECT t.tenant, t.owner, t.context_id, t.state, t.version,
       x.holder, x.epoch, x.pending, x.expires_at - ${NOW} AS remaining_ms, ${CANCEL_AGE} AS cancel_age_ms
  FROM tasks t LEFT JOIN task_leases x ON x.task_id = t.id
 WHERE t.id = ? AND (? IS NULL OR (t.tenant = ? AND t.owner = ?))`;

/** The task and its lease, of a scope where one is named. */
export function lookAt(
  session: SqliteSession,
  { taskId, scope }: { readonly taskId: string; readonly scope?: Scope | undefined },
): Look | null {
  const { tenant = null, owner = null } = scope ?? {};
  const row = session.get(LOOK, taskId, owner, tenant, owner);
  return row ? toLook(row) : null;
}

function toLook(row: SqlRow): Look {
  return {
    scope: { tenant: textAt(row, 'tenant'), owner: textAt(row, 'owner') },
    contextId: textAt(row, 'context_id'),
    state: textAt(row, 'state'),
    version: numberAt(row, 'version'),
    lease: leaseOf(row),
  };
}

/** The lease of a row that a LEFT JOIN may have missed. */
export function leaseOf(row: SqlRow): Look['lease'] {
  if (row['holder'] === null) return null;
  return {
    holder: textAt(row, 'holder'),
    epoch: numberAt(row, 'epoch'),
    pending: numberAt(row, 'pending') !== 0,
    remainingMs: numberAt(row, 'remaining_ms'),
    cancelAgeMs: numberOrNull(row, 'cancel_age_ms'),
  };
}

const MESSAGES = `
SELECT count(*) AS messages FROM (
  SELECT 1 FROM task_events WHERE task_id = ? AND message_id IS NOT NULL LIMIT ?)`;

/** How many user messages the log has, counted up to a limit. */
export function countMessages(session: SqliteSession, taskId: string, most: number): number {
  const row = session.get(MESSAGES, taskId, most);
  return row ? numberAt(row, 'messages') : 0;
}

const MESSAGE = 'SELECT seq, epoch FROM task_events WHERE task_id = ? AND message_id = ?';

/** The row that carries a user message. */
export function messageRow(
  session: SqliteSession,
  taskId: string,
  messageId: string,
): { seq: number; epoch: number } | null {
  const row = session.get(MESSAGE, taskId, messageId);
  return row ? { seq: numberAt(row, 'seq'), epoch: numberAt(row, 'epoch') } : null;
}
