import { randomUUID } from 'node:crypto';
import Sqlite from 'better-sqlite3';
import mariadb from 'mariadb';
import type { BenchContext } from '../benchmark.js';

/** A task that the bare driver goes on with: nobody else writes it. */
export interface BareTask {
  readonly taskId: string;
  readonly holder: string;
  /** Of the last event. */
  readonly version: number;
  readonly payload: string;
}

/** Commits one event through a bare driver. */
export type BareCommit = () => Promise<void>;

const LOCK_TASK = 'SELECT tenant, owner, version, state FROM tasks WHERE id = ? FOR UPDATE';
const LOCK_LEASE =
  'SELECT holder, epoch, expires_at > SYSDATE(6) AS live FROM task_leases WHERE task_id = ? FOR UPDATE';
const MOVE = `UPDATE tasks SET version = ?, state = COALESCE(NULL, state),
  status_timestamp = COALESCE(NULL, status_timestamp), updated_at = SYSDATE(3) WHERE id = ?`;
const INSERT = `INSERT INTO task_events (task_id, seq, kind, payload, write_id, message_id, holder, epoch, created_at)
  VALUES (?, ?, 'artifactUpdate', ?, ?, NULL, ?, 1, SYSDATE(3))`;

/** The journal's two texts on MySQL and MariaDB: BEGIN and the locking reads, then the writes and COMMIT. */
export async function bareMysqlCommit(
  context: BenchContext,
  url: string,
  task: BareTask,
): Promise<BareCommit> {
  const target = new URL(url);
  const connection = await mariadb.createConnection({
    host: target.hostname,
    port: Number(target.port || 3306),
    user: decodeURIComponent(target.username),
    password: decodeURIComponent(target.password),
    database: target.pathname.slice(1),
    multipleStatements: true,
  });
  context.cleanUp(() => connection.end());
  await connection.query('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED');
  const { taskId, holder, payload } = task;
  let { version } = task;
  return async () => {
    const begin = `START TRANSACTION; ${LOCK_TASK}; ${LOCK_LEASE}`;
    const answers = await connection.query<{ version: number }[][]>(begin, [taskId, taskId]);
    if (answers[1]?.[0]?.version !== version) throw new Error('the bare commit was refused');
    version += 1;
    const values = [version, taskId, taskId, version, payload, randomUUID(), holder];
    await connection.query(`${MOVE}; ${INSERT}; COMMIT`, values);
  };
}

const NOW = `CAST(unixepoch('subsec') * 1000 AS INTEGER)`;

/** The journal's statements on SQLite: prepared once, one synchronous call from BEGIN to COMMIT. */
export function bareSqliteCommit(context: BenchContext, url: string, task: BareTask): BareCommit {
  const database = new Sqlite(url.replace(/^file:/, ''));
  context.cleanUp(() => void database.close());
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  const look = database.prepare<[string], { version: number }>(
    `SELECT t.tenant, t.owner, t.context_id, t.state, t.version, x.holder, x.epoch, x.pending,
      x.expires_at - ${NOW} AS remaining_ms FROM tasks t LEFT JOIN task_leases x ON x.task_id = t.id WHERE t.id = ?`,
  );
  const insert = database.prepare(
    `INSERT INTO task_events (task_id, seq, kind, payload, write_id, message_id, holder, epoch, created_at)
     VALUES (?, ?, 'artifactUpdate', ?, ?, NULL, ?, 1, ${NOW})`,
  );
  const move = database.prepare(`UPDATE tasks SET version = ?, updated_at = ${NOW} WHERE id = ?`);
  const { taskId, holder, payload } = task;
  let { version } = task;
  return async () => {
    database.exec('BEGIN IMMEDIATE');
    if (look.get(taskId)?.version !== version) throw new Error('the bare commit was refused');
    version += 1;
    insert.run(taskId, version, payload, randomUUID(), holder);
    move.run(version, taskId);
    database.exec('COMMIT');
  };
}
