import Sqlite from 'better-sqlite3';
import mariadb from 'mariadb';
import pg from 'pg';
import type { TestProvider } from '../providers.js';

/** One statement as a driver was given it. */
export interface SentStatement {
  readonly sql: string;
  readonly values: readonly unknown[];
  /** Sent by name: the server keeps it, and after some runs a plan of it that knows no values. */
  readonly prepared: boolean;
}

/** What is sent through a driver, from {@link startCapture} on. */
export interface Capture {
  /** What was sent since the last call, in order; several statements in one text come apart. */
  take(): SentStatement[];
  /** Puts the driver back as it was. */
  stop(): void;
}

type Note = (sql: string, values: readonly unknown[], prepared?: boolean) => void;

/**
 * Notes what goes through a database's driver in this process. So a test explains the very statements of the code
 * under test, those that Prisma writes included. Start it before connections are opened: MariaDB's driver is met
 * where it opens one.
 */
export function startCapture(provider: TestProvider): Capture {
  const sent: SentStatement[] = [];
  const note: Note = (sql, values, prepared = false) =>
    void sent.push(...splitTexts({ sql, values, prepared }));
  const stop = watchers[provider](note);
  return { take: () => sent.splice(0), stop };
}

/** MySQL's transactions send several statements in one text; their parameters follow one another. */
function splitTexts({ sql, values, prepared }: SentStatement): SentStatement[] {
  let used = 0;
  return sql.split(';\n').map((text) => {
    const places = sql.includes(';\n') ? (text.match(/\?/g)?.length ?? 0) : values.length;
    used += places;
    return { sql: text, values: values.slice(used - places, used), prepared };
  });
}

const watchers: Record<TestProvider, (note: Note) => () => void> = {
  postgresql: watchPg,
  mysql: watchMariadb,
  sqlite: watchSqlite,
};

interface QueryConfig {
  readonly text: string;
  readonly name?: string;
  readonly values?: readonly unknown[];
}

function watchPg(note: Note): () => void {
  const client = pg.Client.prototype as unknown as { query: (...given: unknown[]) => unknown };
  const { query } = client;
  client.query = function (...given) {
    const [first, second] = given;
    const config = typeof first === 'string' ? { text: first } : (first as Partial<QueryConfig>);
    const values = config.values ?? (Array.isArray(second) ? (second as unknown[]) : []);
    if (config.text !== undefined) note(config.text, values, config.name !== undefined);
    return query.apply(this, given);
  };
  return () => void (client.query = query);
}

function watchMariadb(note: Note): () => void {
  const driver = mariadb as { createConnection: typeof mariadb.createConnection };
  const { createConnection } = driver;
  driver.createConnection = async (config) => {
    const connection = await createConnection(config);
    const query = connection.query.bind(connection) as (...given: unknown[]) => Promise<never>;
    connection.query = (sql: string | mariadb.QueryOptions, values?: unknown) => {
      note(typeof sql === 'string' ? sql : sql.sql, Array.isArray(values) ? (values as unknown[]) : []);
      return query(sql, values);
    };
    return connection;
  };
  return () => void (driver.createConnection = createConnection);
}

function watchSqlite(note: Note): () => void {
  const database = Sqlite.prototype as unknown as { prepare: (sql: string) => PreparedStatement };
  const { prepare } = database;
  database.prepare = function (sql) {
    const statement = prepare.call(this, sql);
    for (const name of ['all', 'get', 'run', 'bind'] as const) {
      const call = statement[name].bind(statement);
      statement[name] = (...values) => {
        // The adapter binds a list and runs it after that without any.
        const flat = values.flat();
        if (name === 'bind' || flat.length > 0 || !sql.includes('?')) note(sql, flat);
        return call(...values);
      };
    }
    return statement;
  };
  return () => void (database.prepare = prepare);
}

type PreparedStatement = Record<'all' | 'get' | 'run' | 'bind', (...values: unknown[]) => unknown>;
