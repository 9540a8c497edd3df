import type { EventKind, EventRow, Scope } from '@a2a-cluster/core';
import type { LogHead, LogStatements, StoredTask } from '../statements/log-statements.js';
import type { SqliteLane } from './connection.js';
import { CANCEL_AGE, lookAt, messageRow } from './reads.js';
import { idList, numberAt, numberOrNull, textAt, textOrNull } from './rows.js';
import type { SqlRow, SqliteSession } from './session.js';

/** The columns of an event `e`. */
export const EVENT_COLUMNS = 'e.task_id, e.seq, e.kind, e.payload, e.message_id, e.holder, e.epoch';
const SNAPSHOT = 'SELECT version, payload FROM task_snapshots WHERE task_id = ?';
const AFTER = `SELECT ${EVENT_COLUMNS} FROM task_events e WHERE e.task_id = ? AND e.seq > ? ORDER BY e.seq`;
const PAGE = `${AFTER} LIMIT ?`;
const HEADS = `
SELECT t.id, t.version, t.state, x.holder, x.epoch, ${CANCEL_AGE} AS cancel_age_ms
  FROM json_each(?) w CROSS JOIN tasks t ON t.id = w.value LEFT JOIN task_leases x ON x.task_id = t.id`;

/** The log's statements on SQLite. Each is one read transaction, so what it gives is of one moment. */
export function createSqliteLog(lane: SqliteLane): LogStatements {
  const read = <T>(name: string, work: (session: SqliteSession) => T): Promise<T> =>
    lane.run({ name, writes: false, work });
  return {
    readTask: (task) => read('readTask', (session) => readTask(session, task)),
    readHeads: (taskIds) => read('readHeads', (session) => session.all(HEADS, idList(taskIds)).map(toHead)),
    readEvents: ({ taskId, after, limit }) =>
      read('readEvents', (session) => session.all(PAGE, taskId, after, limit).map(toEvent)),
    readEventsOf: (pages) => read('readEventsOf', (session) => readPages(session, pages)),
    findMessage: ({ taskId, messageId }) =>
      read('findMessage', (session) => messageRow(session, taskId, messageId)),
  };
}

function readTask(
  session: SqliteSession,
  task: { readonly taskId: string; readonly scope?: Scope },
): StoredTask | null {
  const { taskId } = task;
  const look = lookAt(session, task);
  if (!look) return null;
  const snapshot = session.get(SNAPSHOT, taskId);
  const snapshotVersion = snapshot ? numberAt(snapshot, 'version') : 0;
  return {
    taskId,
    ...look,
    snapshot: snapshot ? textAt(snapshot, 'payload') : null,
    snapshotVersion,
    events: session.all(AFTER, taskId, snapshotVersion).map(toEvent),
  };
}

/** Task by task until the limit is full: one join over all cursors would read every payload to sort them. */
function readPages(
  session: SqliteSession,
  pages: Parameters<LogStatements['readEventsOf']>[0],
): readonly EventRow[] {
  const rows: EventRow[] = [];
  for (const { taskId, after } of pages.cursors) {
    const room = pages.limit - rows.length;
    if (room <= 0) break;
    rows.push(...session.all(PAGE, taskId, after, room).map(toEvent));
  }
  return rows;
}

/** A row of {@link EVENT_COLUMNS}. */
export function toEvent(row: SqlRow): EventRow {
  return {
    taskId: textAt(row, 'task_id'),
    seq: numberAt(row, 'seq'),
    // What was written is one of them; the reader that decodes the payload refuses any other.
    kind: textAt(row, 'kind') as EventKind,
    payload: textAt(row, 'payload'),
    messageId: textOrNull(row, 'message_id'),
    holder: textAt(row, 'holder'),
    epoch: numberAt(row, 'epoch'),
  };
}

function toHead(row: SqlRow): LogHead {
  const head = { taskId: textAt(row, 'id'), version: numberAt(row, 'version'), state: textAt(row, 'state') };
  if (row['holder'] === null) return { ...head, lease: null };
  const lease = {
    holder: textAt(row, 'holder'),
    epoch: numberAt(row, 'epoch'),
    cancelAgeMs: numberOrNull(row, 'cancel_age_ms'),
  };
  return { ...head, lease };
}
