import { openRaw } from '@a2a-cluster/testing';
import { until } from '../../tools/processes.js';
import type { World } from '../../world/world.js';

/** Rows that a foreign transaction has locked. */
export interface RowLock {
  /** Ends the transaction; only the first call counts. */
  release(): Promise<void>;
}

/** What {@link lockRows} locks. */
export interface LockRows {
  readonly table: 'tasks' | 'task_leases';
  readonly taskId: string;
  /** Whose turn it is about, for the record. */
  readonly replica: string;
}

/** Locks the row of one task as somebody else's transaction does; it has no limits of its own. Not for SQLite. */
export async function lockRows(world: World, { table, taskId, replica }: LockRows): Promise<RowLock> {
  const raw = await openRaw(world.database.url);
  await raw.run('START TRANSACTION');
  const fault = world.recorder.fault({ kind: 'rows_locked', replica, detail: `${table}, task ${taskId}` });
  const key = table === 'tasks' ? 'id' : 'task_id';
  await raw.query(`SELECT ${key} FROM ${table} WHERE ${key} = '${taskId}' FOR UPDATE`);
  let released: Promise<void> | null = null;
  const release = (): Promise<void> =>
    (released ??= (async () => {
      await raw.run('ROLLBACK');
      fault.end();
      await raw.close();
    })());
  world.atEnd(release);
  return { release };
}

const WAITING = {
  postgresql: `SELECT COUNT(*) AS n FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%INSERT INTO task_events%'`,
  mysql: `SELECT COUNT(*) AS n FROM information_schema.innodb_trx t
    JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
    WHERE p.db = DATABASE() AND t.trx_state = 'LOCK WAIT'`,
  sqlite: 'SELECT 0',
};

/** How many writes wait for a row lock at this moment. */
export function waitingWrites(world: World): Promise<number> {
  return world.database.number(WAITING[world.provider]);
}

/** Resolves once a write waits for a row lock. */
export function writeWaits(world: World): Promise<void> {
  return until(async () => (await waitingWrites(world)) > 0, {
    what: 'a write waits for the row',
    withinMs: 5_000,
  });
}
