import Sqlite from 'better-sqlite3';
import mariadb from 'mariadb';
import pg from 'pg';
import { providerOfUrl } from '@a2a-cluster/testing';

/** Renewals by the bare driver: unprepared on the servers, prepared once on SQLite, as ours are. */
export interface BareRenewals {
  /** The floor: one UPDATE for all. */
  all(): Promise<void>;
  /** The shape of the original: one UPDATE per task, through a pool of ten connections. */
  each(): Promise<void>;
  close(): Promise<void>;
}

interface Renewal {
  readonly url: string;
  readonly holder: string;
  readonly taskIds: readonly string[];
  readonly ttlMs: number;
}

const POOL_SIZE = 10;

/** Opens the bare driver of the database that the URL names. */
export async function openBareRenewals(renewal: Renewal): Promise<BareRenewals> {
  const provider = providerOfUrl(renewal.url);
  if (provider === 'postgresql') return onPostgres(renewal);
  return provider === 'mysql' ? onMysql(renewal) : onSqlite(renewal);
}

function expectRenewed(changed: number | null, expected: number): void {
  if (changed !== expected) throw new Error(`${changed} of ${expected} leases were renewed`);
}

function onPostgres({ url, holder, taskIds, ttlMs }: Renewal): BareRenewals {
  const pool = new pg.Pool({ connectionString: url, max: POOL_SIZE });
  const update = (condition: string): string =>
    `UPDATE task_leases SET expires_at = clock_timestamp() + $3::float8 * interval '1 ms'
      WHERE task_id ${condition} AND holder = $2`;
  const forAll = update('= ANY ($1::text[])');
  const forOne = update('= $1');
  const renew = async (sql: string, ids: string | readonly string[], expected: number): Promise<void> =>
    expectRenewed((await pool.query(sql, [ids, holder, ttlMs])).rowCount, expected);
  return {
    all: () => renew(forAll, taskIds, taskIds.length),
    each: async () => void (await Promise.all(taskIds.map((taskId) => renew(forOne, taskId, 1)))),
    close: () => pool.end(),
  };
}

async function onMysql({ url, holder, taskIds, ttlMs }: Renewal): Promise<BareRenewals> {
  const target = new URL(url);
  const pool = mariadb.createPool({
    host: target.hostname,
    port: Number(target.port || 3306),
    user: decodeURIComponent(target.username),
    password: decodeURIComponent(target.password),
    database: target.pathname.slice(1),
    connectionLimit: POOL_SIZE,
  });
  // A list of 1 000 would become a join with a derived table, which is slower still.
  const [{ isMariaDb }] = (await pool.query(`SELECT VERSION() LIKE '%MariaDB%' AS isMariaDb`)) as [
    { isMariaDb: number },
  ];
  const hint = Number(isMariaDb) === 1 ? 'SET STATEMENT in_predicate_conversion_threshold = 0 FOR ' : '';
  const update = (condition: string): string =>
    `${hint}UPDATE task_leases SET expires_at = SYSDATE(3) + INTERVAL ? MICROSECOND
      WHERE task_id ${condition} AND holder = ?`;
  const forAll = update('IN (?)');
  const forOne = update('= ?');
  const renew = async (sql: string, ids: string | readonly string[], expected: number): Promise<void> => {
    const answer = (await pool.query(sql, [ttlMs * 1_000, ids, holder])) as { affectedRows: number };
    expectRenewed(answer.affectedRows, expected);
  };
  return {
    all: () => renew(forAll, taskIds, taskIds.length),
    each: async () => void (await Promise.all(taskIds.map((taskId) => renew(forOne, taskId, 1)))),
    close: () => pool.end(),
  };
}

const NOW = `CAST(unixepoch('subsec') * 1000 AS INTEGER)`;

function onSqlite({ url, holder, taskIds, ttlMs }: Renewal): BareRenewals {
  const database = new Sqlite(url.replace(/^file:/, ''), { timeout: 5_000 });
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  const update = (condition: string): Sqlite.Statement =>
    database.prepare(
      `UPDATE task_leases SET expires_at = ${NOW} + ? WHERE holder = ? AND task_id ${condition}`,
    );
  const forAll = update('IN (SELECT value FROM json_each(?))');
  const forOne = update('= ?');
  return {
    all: async () =>
      expectRenewed(forAll.run(ttlMs, holder, JSON.stringify(taskIds)).changes, taskIds.length),
    each: async () => {
      for (const taskId of taskIds) expectRenewed(forOne.run(ttlMs, holder, taskId).changes, 1);
    },
    close: async () => void database.close(),
  };
}
