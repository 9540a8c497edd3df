import type {
  Compacted,
  Compaction,
  CompactTask,
  Purge,
  Purged,
  PurgedTask,
  RetentionFound,
  RetentionStatements,
  RetentionStep,
} from '../statements/retention-statements.js';
import type { SqliteLane } from './connection.js';
import { TERMINAL_LIST } from './reads.js';
import { NOW, idList, numberAt, textAt } from './rows.js';
import type { SqliteSession } from './session.js';
import { writeSnapshot } from './writes.js';

/** Retention on SQLite (protocol 11): each call is one synchronous transaction, so callers keep their limits small. */
export function createSqliteRetention(lane: SqliteLane): RetentionStatements {
  return {
    find: (step) =>
      lane.run({ name: 'findRetention', writes: false, work: (session) => find(session, step) }),
    compact: (compaction) =>
      lane.run({ name: 'compact', writes: true, work: (session) => compact(session, compaction) }),
    purge: (purge) =>
      lane.run({ name: 'purge', writes: true, work: (session) => purgeTasks(session, purge) }),
  };
}

/** A task `t` that is due; the age is a parameter. */
const DUE = `t.state IN (${TERMINAL_LIST}) AND t.updated_at < ${NOW} - CAST(? AS INTEGER)
   AND NOT EXISTS (SELECT 1 FROM task_leases x WHERE x.task_id = t.id)
   AND NOT EXISTS (SELECT 1 FROM push_notification_configs c
                    WHERE c.task_id = t.id AND c.status = 'active' AND c.position < t.version)
   AND NOT EXISTS (SELECT 1 FROM push_dead_letters d WHERE d.task_id = t.id AND d.due_at IS NOT NULL)`;

/** The last row of the step, or no row when the walk ends before. */
const LAST = 'SELECT id FROM tasks WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?';
const FIND = `
SELECT t.id, t.version, coalesce((SELECT s.version FROM task_snapshots s WHERE s.task_id = t.id), 0) AS snapshot_version
  FROM (SELECT * FROM tasks WHERE id > ? ORDER BY id LIMIT ?) t
 WHERE ${DUE} AND (? OR EXISTS (SELECT 1 FROM task_events e WHERE e.task_id = t.id))
 ORDER BY t.id`;

function find(session: SqliteSession, step: RetentionStep): RetentionFound {
  const { after, limit, endedForMs, due } = step;
  const rows = session.all(FIND, after, limit, endedForMs, due === 'task' ? 1 : 0);
  const last = session.get(LAST, after, limit - 1);
  return {
    tasks: rows.map((row) => ({
      taskId: textAt(row, 'id'),
      version: numberAt(row, 'version'),
      snapshotVersion: numberAt(row, 'snapshot_version'),
    })),
    next: last ? textAt(last, 'id') : null,
  };
}

const COMPACTABLE = `
SELECT s.version AS snapshot_version FROM tasks t LEFT JOIN task_snapshots s ON s.task_id = t.id
 WHERE t.id = ? AND t.version = ? AND ${DUE}`;
const TRIM = `
DELETE FROM task_events
 WHERE task_id = ? AND seq IN (SELECT seq FROM task_events WHERE task_id = ? ORDER BY seq LIMIT ?)`;

function compact(session: SqliteSession, { tasks, endedForMs, maxEvents }: Compaction): Compacted {
  const taken = tasks.filter((task) => mayCompact(session, task, endedForMs));
  let events = 0;
  for (const { taskId, version, snapshot } of taken) {
    if (snapshot !== null) writeSnapshot(session, { taskId, version }, snapshot);
    if (events < maxEvents) events += session.run(TRIM, taskId, taskId, maxEvents - events);
  }
  return { events, taskIds: taken.map(({ taskId }) => taskId) };
}

function mayCompact(session: SqliteSession, compact: CompactTask, endedForMs: number): boolean {
  const { taskId, version, snapshot } = compact;
  const row = session.get(COMPACTABLE, taskId, version, endedForMs);
  return row !== undefined && (snapshot !== null || row['snapshot_version'] === version);
}

const PURGEABLE = `
SELECT t.id, t.tenant, t.owner, t.state FROM tasks t
 WHERE t.id IN (SELECT value FROM json_each(?)) AND ${DUE} ORDER BY t.id`;
const HAS_EVENTS = 'SELECT 1 FROM task_events WHERE task_id = ? LIMIT 1';
const DELETE_REST = [
  'DELETE FROM task_snapshots WHERE task_id = ?',
  'DELETE FROM push_dead_letters WHERE task_id = ?',
  'DELETE FROM push_notification_configs WHERE task_id = ?',
  'DELETE FROM tasks WHERE id = ?',
];

function purgeTasks(session: SqliteSession, { taskIds, endedForMs, maxEvents }: Purge): Purged {
  const purged: PurgedTask[] = [];
  let events = 0;
  for (const row of session.all(PURGEABLE, idList(taskIds), endedForMs)) {
    const taskId = textAt(row, 'id');
    if (events < maxEvents) events += session.run(TRIM, taskId, taskId, maxEvents - events);
    if (session.get(HAS_EVENTS, taskId)) break;
    for (const sql of DELETE_REST) session.run(sql, taskId);
    const scope = { tenant: textAt(row, 'tenant'), owner: textAt(row, 'owner') };
    purged.push({ taskId, scope, state: textAt(row, 'state') });
  }
  return { purged, events };
}
