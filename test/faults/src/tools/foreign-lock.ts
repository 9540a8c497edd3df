import { openRaw, providerOfUrl, type RawConnection } from '@a2a-cluster/testing';
import { queryDatabase } from './database-query.js';
import { own } from './owned.js';

/** Locks somebody outside the cluster holds. */
export interface ForeignLock {
  /** Gives them back. A second call does nothing; one that comes when the connection is gone does nothing either. */
  release(): Promise<void>;
}

/** What {@link lockRows} is told. */
export interface LockRows {
  readonly url: string;
  readonly table: 'task_leases' | 'tasks';
  /** Rows that are not there are not locked. */
  readonly taskIds: readonly string[];
}

/**
 * Locks rows by a foreign transaction until they are released. On SQLite, which has no locks of rows, it is the write
 * lock of the whole file. Resolves when the locks are held; waits for those who hold them now.
 */
export async function lockRows(options: LockRows): Promise<ForeignLock> {
  const { url, taskIds } = options;
  const provider = providerOfUrl(url);
  const raw = await openRaw(url);
  try {
    if (provider === 'sqlite') await raw.run('BEGIN IMMEDIATE');
    else {
      await raw.run('BEGIN');
      await lockEach(raw, options);
    }
  } catch (error) {
    await raw.close();
    throw new Error(`cannot lock ${taskIds.length} rows of ${options.table}`, { cause: error });
  }
  return heldBy(raw);
}

async function lockEach(raw: RawConnection, { url, table, taskIds }: LockRows): Promise<void> {
  if (taskIds.length === 0) return;
  const mark =
    providerOfUrl(url) === 'mysql' ? (): string => '?' : (index: number): string => `$${index + 1}`;
  const marks = taskIds.map((_, index) => mark(index)).join(', ');
  const key = table === 'tasks' ? 'id' : 'task_id';
  // In the order of the cluster's own statements, or two of them would wait for each other.
  await raw.query(
    `SELECT ${key} FROM ${table} WHERE ${key} IN (${marks}) ORDER BY ${key} FOR UPDATE`,
    taskIds,
  );
}

function heldBy(raw: RawConnection): ForeignLock {
  let released: Promise<void> | undefined;
  const release = async (): Promise<void> => {
    disown();
    // The server may have ended the transaction by itself: then there is nothing to give back.
    await raw.run('ROLLBACK').catch(() => {});
    await raw.close().catch(() => {});
  };
  const disown = own({ endNow: () => void release() });
  return { release: () => (released ??= release()) };
}

/** What {@link terminateBackends} is told. */
export interface TerminateBackends {
  readonly url: string;
  /** The probability with which each connection is ended; 1 ends all. */
  readonly share: number;
  readonly random: () => number;
}

/**
 * Ends connections of clients of this one database by order of the server (`pg_terminate_backend`, `KILL`), never
 * its own. Answers how many. On SQLite there are none.
 */
export async function terminateBackends(options: TerminateBackends): Promise<number> {
  const provider = providerOfUrl(options.url);
  if (provider === 'sqlite') return 0;
  const list =
    provider === 'postgresql'
      ? `SELECT pid AS id FROM pg_stat_activity WHERE datname = current_database()
           AND backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY pid`
      : `SELECT ID AS id FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND ID <> CONNECTION_ID()
           ORDER BY ID`;
  const rows = await queryDatabase(options.url, list);
  const victims = rows.map((row) => String(row['id'])).filter(() => options.random() < options.share);
  if (victims.length === 0) return 0;
  if (provider === 'postgresql') {
    const ids = victims.join(', ');
    const ended = await queryDatabase(
      options.url,
      `SELECT pid FROM unnest(ARRAY[${ids}]) AS pid WHERE pg_terminate_backend(pid)`,
    );
    return ended.length;
  }
  return killThreads(options.url, victims);
}

async function killThreads(url: string, ids: readonly string[]): Promise<number> {
  const raw = await openRaw(url);
  let ended = 0;
  try {
    for (const id of ids) {
      // One that ended by itself meanwhile is no error.
      await raw.run(`KILL ${id}`).then(
        () => (ended += 1),
        () => {},
      );
    }
  } finally {
    await raw.close();
  }
  return ended;
}
