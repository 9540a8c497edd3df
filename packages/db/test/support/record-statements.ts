/**
 * A setup file for jest that writes down every statement a test file sends through a driver, with its values and how
 * it ended, one JSON object per line into the file that RECORD_STATEMENTS names. `scripts/record-release.mjs` runs the
 * contract with it and keeps what it needs.
 */
import { afterEach, beforeEach, expect } from '@jest/globals';
import Sqlite from 'better-sqlite3';
import mariadb from 'mariadb';
import { appendFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import pg from 'pg';

const file = process.env['RECORD_STATEMENTS'] ?? '';

interface Sent {
  readonly connection: number;
  readonly sql: string;
  readonly values: readonly unknown[];
}

/** Null between tests, where suites prepare what all of their tests use. */
let running: string | null = null;
beforeEach(() => void (running = expect.getState().currentTestName ?? null));
afterEach(() => void (running = null));

const numbers = new WeakMap<object, number>();
let last = 0;

function numberOf(connection: object): number {
  const number = numbers.get(connection) ?? (last += 1);
  numbers.set(connection, number);
  return number;
}

/** JSON has no moments, bytes or large numbers. */
function plain(value: unknown): unknown {
  if (value instanceof Date) return { date: value.toISOString() };
  if (value instanceof Uint8Array) return { base64: Buffer.from(value).toString('base64') };
  if (typeof value === 'bigint') return { bigint: String(value) };
  if (Array.isArray(value)) return value.map(plain);
  return value === undefined ? null : value;
}

function begin(sent: Sent): (outcome: unknown) => void {
  const startMs = performance.now();
  const test = running;
  return (outcome) => {
    const line = {
      test,
      startMs,
      endMs: performance.now(),
      ...sent,
      values: sent.values.map(plain),
      outcome,
    };
    if (file !== '') appendFileSync(file, `${JSON.stringify(line)}\n`);
  };
}

const failed = (error: unknown): unknown => {
  const { code, errno } = error as { code?: unknown; errno?: unknown };
  return { error: String(errno ?? code ?? error) };
};

/** How many rows came, or were changed. */
function counted(answer: unknown): unknown {
  if (Array.isArray(answer)) {
    const parts = answer as unknown[];
    const several = parts.length > 0 && parts.every((part) => Array.isArray(part) || isOutcome(part));
    return several ? parts.map(counted) : parts.length;
  }
  if (isOutcome(answer)) return answer.affectedRows;
  const { rows, rowCount } = (answer ?? {}) as { rows?: unknown[]; rowCount?: number | null };
  return rowCount ?? rows?.length ?? 0;
}

const isOutcome = (part: unknown): part is { affectedRows: number } =>
  typeof part === 'object' && part !== null && 'affectedRows' in part;

type Query = (...given: unknown[]) => unknown;

function watchPg(): void {
  const client = pg.Client.prototype as unknown as { query: Query };
  const { query } = client;
  client.query = function (this: object, ...given: unknown[]) {
    const [first, second] = given;
    const config = (typeof first === 'string' ? { text: first } : first) as {
      text?: string;
      values?: unknown[];
    };
    if (config.text === undefined) return query.apply(this, given);
    const values = config.values ?? (Array.isArray(second) ? (second as unknown[]) : []);
    const end = begin({ connection: numberOf(this), sql: config.text, values });
    const callback = given.at(-1);
    if (typeof callback === 'function') {
      given[given.length - 1] = (error: unknown, answer: unknown) => {
        end(error ? failed(error) : counted(answer));
        (callback as Query)(error, answer);
      };
      return query.apply(this, given);
    }
    const answer = query.apply(this, given) as Promise<unknown>;
    answer.then(
      (rows) => end(counted(rows)),
      (error: unknown) => end(failed(error)),
    );
    return answer;
  };
}

function watchMariadb(): void {
  const driver = mariadb as { createConnection: typeof mariadb.createConnection };
  const { createConnection } = driver;
  driver.createConnection = async (config) => {
    const connection = await createConnection(config);
    const query = connection.query.bind(connection) as Query;
    const watched = (sql: string | mariadb.QueryOptions, values?: unknown): unknown => {
      const text = typeof sql === 'string' ? sql : sql.sql;
      const given = values ?? (typeof sql === 'string' ? [] : ((sql as { values?: unknown }).values ?? []));
      const list = Array.isArray(given) ? (given as unknown[]) : [given];
      const end = begin({ connection: numberOf(connection), sql: text, values: list });
      const answer = query(sql, values) as Promise<unknown>;
      answer.then(
        (rows) => end(counted(rows)),
        (error: unknown) => end(failed(error)),
      );
      return answer;
    };
    connection.query = watched as typeof connection.query;
    return connection;
  };
}

function synchronously(sent: Sent, work: () => unknown, count: (answer: unknown) => unknown): unknown {
  const end = begin(sent);
  try {
    const answer = work();
    end(count(answer));
    return answer;
  } catch (error) {
    end(failed(error));
    throw error;
  }
}

function watchSqlite(): void {
  const database = Sqlite.prototype as unknown as {
    prepare: (sql: string) => Record<string, Query>;
    exec: (sql: string) => unknown;
  };
  const { prepare, exec } = database;
  database.exec = function (this: object, sql) {
    const sent = { connection: numberOf(this), sql, values: [] };
    // How many rows it changed it does not say.
    return synchronously(
      sent,
      () => exec.call(this, sql),
      () => null,
    );
  };
  database.prepare = function (this: object, sql) {
    const statement = prepare.call(this, sql);
    // The adapter binds a list first, and runs the statement without any after that.
    let bound: unknown[] = [];
    const bind = statement['bind']?.bind(statement);
    statement['bind'] = (...values) => {
      bound = values.flat();
      return bind?.(...values);
    };
    for (const name of ['all', 'get', 'run'] as const) {
      const call = statement[name]?.bind(statement) as Query;
      statement[name] = (...values) => {
        const sent = { connection: numberOf(this), sql, values: values.length > 0 ? values.flat() : bound };
        return synchronously(sent, () => call(...values), rowsOf);
      };
    }
    return statement;
  };
}

function rowsOf(answer: unknown): unknown {
  if (Array.isArray(answer)) return answer.length;
  const { changes } = (answer ?? {}) as { changes?: number };
  return changes ?? (answer === undefined ? 0 : 1);
}

watchPg();
watchMariadb();
watchSqlite();
