import Sqlite from 'better-sqlite3';
import mariadb from 'mariadb';
import pg from 'pg';
import type { TestProvider } from './providers.js';

/** One connection by the bare driver, for what a test does behind the back of the code under test. */
export interface RawConnection {
  /** Runs a text of one or several statements without parameters. Rejects at the first error. */
  run(script: string): Promise<void>;
  /**
   * Runs one statement and answers its rows. Parameters are `?` on SQLite and MySQL, `$1` on PostgreSQL. On SQLite a
   * statement without rows answers []. Numbers of 64 bits come as `bigint` or number, as the driver has it.
   */
  query(sql: string, parameters?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  /** Closes the connection; a second call does nothing. */
  close(): Promise<void>;
}

/** Which database a URL means. */
export function providerOfUrl(url: string): TestProvider {
  if (/^postgres(ql)?:/.test(url)) return 'postgresql';
  return /^(mysql|mariadb):/.test(url) ? 'mysql' : 'sqlite';
}

async function openPostgres(url: string): Promise<RawConnection> {
  const target = new URL(url);
  const schema = target.searchParams.get('schema');
  target.searchParams.delete('schema');
  const options = schema ? { options: `-c search_path=${schema}` } : {};
  const client = new pg.Client({ connectionString: target.toString(), ...options });
  // A database that is dropped under an idle connection is no reason to end the test process.
  client.on('error', () => {});
  await client.connect();
  let closing: Promise<void> | undefined;
  return {
    run: async (script) => void (await client.query(script)),
    query: async (sql, parameters = []) => (await client.query(sql, [...parameters])).rows,
    close: () => (closing ??= client.end()),
  };
}

async function openMysql(url: string): Promise<RawConnection> {
  const target = new URL(url);
  const connection = await mariadb.createConnection({
    host: target.hostname,
    port: Number(target.port || 3306),
    user: decodeURIComponent(target.username),
    password: decodeURIComponent(target.password),
    database: decodeURIComponent(target.pathname.slice(1)),
    multipleStatements: true,
    // The driver's own default of 1 s is too short for a machine that runs many tests at once.
    connectTimeout: 10_000,
    timezone: 'Z',
  });
  connection.on('error', () => {});
  let closing: Promise<void> | undefined;
  return {
    run: async (script) => void (await connection.query(script)),
    query: async (sql, parameters = []) => {
      const rows: unknown = await connection.query(sql, [...parameters]);
      return Array.isArray(rows) ? (rows as Record<string, unknown>[]) : [];
    },
    close: () => (closing ??= connection.end()),
  };
}

/**
 * The addon keeps the error class of the test file that loaded it first, so in the next file of the same worker its
 * errors are no `Error` there. They are told again as one that is, with the code.
 */
async function asErrors<T>(work: () => T): Promise<T> {
  try {
    return work();
  } catch (cause) {
    const { message, code } = cause as { message: string; code?: string };
    throw Object.assign(new Error(message, { cause }), { code });
  }
}

function openSqlite(url: string): RawConnection {
  const file = url.replace(/^file:(\/\/)?/, '').replace(/\?.*$/, '');
  const database = new Sqlite(file, { timeout: 5_000 });
  return {
    run: (script) => asErrors(() => void database.exec(script)),
    query: (sql, parameters = []) =>
      asErrors(() => {
        const statement = database.prepare<unknown[], Record<string, unknown>>(sql);
        if (statement.reader) return statement.all(...parameters);
        statement.run(...parameters);
        return [];
      }),
    close: async () => void database.close(),
  };
}

/**
 * Opens one connection to a test database, with nothing set on it: no isolation level, no time zone, no limits.
 * A `?schema=` of a PostgreSQL URL becomes the search path. The caller closes it.
 */
export async function openRaw(url: string): Promise<RawConnection> {
  const provider = providerOfUrl(url);
  if (provider === 'postgresql') return openPostgres(url);
  return provider === 'mysql' ? openMysql(url) : openSqlite(url);
}
