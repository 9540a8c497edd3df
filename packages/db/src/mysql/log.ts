import type { LogHead, LogStatements, StoredTask } from '../statements/log-statements.js';
import type { Pool } from './pool.js';
import { read } from './reads.js';
import {
  CANCEL_US,
  REMAINING_US,
  eventOf,
  leaseOf,
  msOrNullAt,
  numberAt,
  textAt,
  textOrNullAt,
} from './rows.js';
import { statement } from './texts.js';

const EVENT_COLUMNS = 'task_id, seq, kind, payload, message_id, holder, epoch';

/** What reads the log on MySQL and MariaDB. Each call is one statement, so one read view at READ COMMITTED. */
export function createLog(pool: Pool): LogStatements {
  return {
    readTask: (find) => readTask(pool, find),
    readHeads: (taskIds) => readHeads(pool, taskIds),
    async readEvents({ taskId, after, limit }) {
      const sql = `SELECT ${EVENT_COLUMNS} FROM task_events WHERE task_id = ? AND seq > ? ORDER BY seq LIMIT ?`;
      return (await read(pool, statement(sql, taskId, after, limit))).map(eventOf);
    },
    async readEventsOf({ cursors, limit }) {
      if (cursors.length === 0) return [];
      const ranges = cursors.map(() => '(task_id = ? AND seq > ?)').join(' OR ');
      const sql = `SELECT ${EVENT_COLUMNS} FROM task_events FORCE INDEX (PRIMARY) WHERE ${ranges}
        ORDER BY task_id, seq LIMIT ?`;
      const places = cursors.flatMap(({ taskId, after }) => [taskId, after]);
      return (await read(pool, statement(sql, ...places, limit))).map(eventOf);
    },
    async findMessage({ taskId, messageId }) {
      const sql = 'SELECT seq, epoch FROM task_events WHERE task_id = ? AND message_id = ?';
      const row = (await read(pool, statement(sql, taskId, messageId)))[0];
      return row ? { seq: numberAt(row, 'seq'), epoch: numberAt(row, 'epoch') } : null;
    },
  };
}

/**
 * The task's row with lease and snapshot, then the events after the snapshot, as one UNION ALL: two statements
 * could have a commit, or a new snapshot, between them.
 */
const READ_TASK = `
SELECT 0 AS part, t.id AS task_id, t.tenant, t.owner, t.context_id, t.state, t.version, l.holder, l.epoch, l.pending,
       ${REMAINING_US} AS remaining_us, ${CANCEL_US} AS cancel_us,
       s.version AS snapshot_version, s.payload, NULL AS seq, NULL AS kind, NULL AS message_id
  FROM tasks t LEFT JOIN task_leases l ON l.task_id = t.id LEFT JOIN task_snapshots s ON s.task_id = t.id
 WHERE t.id = ?
UNION ALL
SELECT 1, e.task_id, NULL, NULL, NULL, NULL, NULL, e.holder, e.epoch, NULL,
       NULL, NULL, NULL, e.payload, e.seq, e.kind, e.message_id
  FROM task_events e
 WHERE e.task_id = ? AND e.seq > COALESCE((SELECT version FROM task_snapshots WHERE task_id = ?), 0)`;

async function readTask(
  pool: Pool,
  { taskId, scope }: Parameters<LogStatements['readTask']>[0],
): Promise<StoredTask | null> {
  const rows = await read(pool, statement(READ_TASK, taskId, taskId, taskId));
  const head = rows.find((row) => row['part'] === 0);
  if (!head) return null;
  const theirs = { tenant: textAt(head, 'tenant'), owner: textAt(head, 'owner') };
  if (scope && (scope.tenant !== theirs.tenant || scope.owner !== theirs.owner)) return null;
  const snapshot = textOrNullAt(head, 'payload');
  return {
    taskId: textAt(head, 'task_id'),
    scope: theirs,
    contextId: textAt(head, 'context_id'),
    state: textAt(head, 'state'),
    version: numberAt(head, 'version'),
    lease: leaseOf(head),
    snapshot,
    snapshotVersion: snapshot === null ? 0 : numberAt(head, 'snapshot_version'),
    events: rows
      .filter((row) => row['part'] === 1)
      .map(eventOf)
      .sort((a, b) => a.seq - b.seq),
  };
}

async function readHeads(pool: Pool, taskIds: readonly string[]): Promise<readonly LogHead[]> {
  if (taskIds.length === 0) return [];
  const sql = `SELECT t.id AS task_id, t.version, t.state, l.holder, l.epoch, ${CANCEL_US} AS cancel_us
    FROM tasks t FORCE INDEX (PRIMARY) LEFT JOIN task_leases l ON l.task_id = t.id WHERE t.id IN (?)`;
  return (await read(pool, statement(sql, taskIds))).map((row) => ({
    taskId: textAt(row, 'task_id'),
    version: numberAt(row, 'version'),
    state: textAt(row, 'state'),
    lease:
      row['holder'] === null
        ? null
        : {
            holder: textAt(row, 'holder'),
            epoch: numberAt(row, 'epoch'),
            cancelAgeMs: msOrNullAt(row, 'cancel_us'),
          },
  }));
}
