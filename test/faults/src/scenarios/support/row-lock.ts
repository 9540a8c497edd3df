import { openRaw } from '@a2a-cluster/testing';
import { until } from '../../tools/processes.js';
import type { World } from '../../world/world.js';

/** A row that a foreign transaction has locked. */
export interface RowLock {
  /** How many of the cluster's statements wait for it at this moment. */
  waiting(): Promise<number>;
  /** Resolves once one waits. */
  waitedFor(): Promise<void>;
  /** Ends the transaction; only the first call counts. */
  release(): Promise<void>;
}

/** What {@link lockRow} locks. */
export interface LockRow {
  readonly table: 'tasks' | 'task_leases';
  readonly taskId: string;
  /** Whose turn it is about, for the record. */
  readonly replica: string;
}

/** Who the locker is, and who waits for it. MySQL tells the text: what stands there cannot go on while we hold the row. */
const WAITERS = {
  postgresql: {
    me: 'SELECT pg_backend_pid() AS id',
    sql: (me: unknown) =>
      `SELECT COUNT(*) FROM pg_stat_activity WHERE ${Number(me)} = ANY (pg_blocking_pids(pid))`,
  },
  mysql: {
    me: 'SELECT CONNECTION_ID() AS id',
    sql: (me: unknown, taskId: string) =>
      `SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND command = 'Query'
       AND id NOT IN (${Number(me)}, CONNECTION_ID()) AND info LIKE '%${taskId}%FOR UPDATE%'
       AND info NOT LIKE '%SKIP LOCKED%'`,
  },
};

/** Locks the row of one task as somebody else's transaction does; it has no limits of its own. Not for SQLite. */
export async function lockRow(world: World, { table, taskId, replica }: LockRow): Promise<RowLock> {
  if (world.provider === 'sqlite') throw new Error('SQLite locks no rows');
  const { me, sql } = WAITERS[world.provider];
  const raw = await openRaw(world.database.url);
  const [mine] = await raw.query(me);
  await raw.run('START TRANSACTION');
  const fault = world.recorder.fault({ kind: 'rows_locked', replica, detail: `${table}, task ${taskId}` });
  const key = table === 'tasks' ? 'id' : 'task_id';
  await raw.query(`SELECT ${key} FROM ${table} WHERE ${key} = '${taskId}' FOR UPDATE`);
  let released: Promise<void> | null = null;
  const release = async (): Promise<void> => {
    await raw.run('ROLLBACK');
    fault.end();
    await raw.close();
  };
  const lock: RowLock = {
    waiting: () => world.database.number(sql(mine?.['id'], taskId)),
    waitedFor: () =>
      until(async () => (await lock.waiting()) > 0, { what: 'a write waits for the row', withinMs: 5_000 }),
    release: () => (released ??= release()),
  };
  world.atEnd(lock.release);
  return lock;
}
