import Sqlite from 'better-sqlite3';
import mariadb from 'mariadb';
import pg from 'pg';
import { createSystemClock, sleep } from '@a2a-cluster/core';
import { providerOfUrl } from '@a2a-cluster/testing';
import type { Call, CallOutcome, Recording } from './recording.js';

/** A connection as the recorded version had it. */
interface Player {
  run(sql: string, values: readonly unknown[]): Promise<CallOutcome>;
  close(): Promise<void>;
}

/** A call that ended in another way than it did for the version that sent it. */
export interface Difference {
  readonly test: string;
  readonly sql: string;
  readonly values: readonly unknown[];
  readonly recorded: CallOutcome;
  readonly found: CallOutcome;
}

/** What a replay came to. */
export interface Replay {
  readonly calls: number;
  /** Calls that failed and had not, or had and did not. */
  readonly failures: readonly Difference[];
  /**
   * Statements that found or changed rows when they were recorded and did so with none of their calls now. A single
   * call may meet other rows: a recording leaves out tests, and who asks about all leases sees those of every test.
   */
  readonly withoutEffect: readonly string[];
}

/** Options of {@link replay}. */
export interface ReplayOptions {
  readonly recording: Recording;
  readonly url: string;
  /** Called before each test's calls. */
  readonly between?: (test: number) => Promise<void>;
  /** Ends at the first failure: what comes after one waits for transactions that nobody ends. */
  readonly untilFailure?: boolean;
}

const clock = createSystemClock();

/** Sends what was recorded, call by call and not faster than it was, and says what ended differently. */
export async function replay({
  recording,
  url,
  between,
  untilFailure = false,
}: ReplayOptions): Promise<Replay> {
  const { statements, sessions, tests } = recording;
  const players = new Map<number, Player>();
  const database = decodeURIComponent(new URL(url.replace(/^file:/, 'file:///')).pathname.slice(1));
  const textOf = (call: Call): string => (statements[call[1]] ?? '').replaceAll('{database}', database);
  const playerOf = async (connection: number): Promise<Player> => {
    const known = players.get(connection);
    if (known !== undefined) return known;
    const player = await openPlayer(url);
    players.set(connection, player);
    for (const call of sessions[connection] ?? []) await player.run(textOf(call), call[2].map(value));
    return player;
  };
  const failures: Difference[] = [];
  const lacking = new Set<number>();
  const done = new Set<number>();
  let calls = 0;
  try {
    for (const [at, test] of tests.entries()) {
      if (untilFailure && failures.length > 0) break;
      await between?.(at);
      for (const call of test.calls) {
        const [connection, , values, recorded, waitedMs] = call;
        if (waitedMs !== undefined) await sleep({ clock, delayMs: waitedMs });
        const sql = textOf(call);
        const found = await (await playerOf(connection)).run(sql, values.map(value));
        calls += 1;
        if (errorOf(found) !== errorOf(recorded))
          failures.push({ test: test.name, sql, values, recorded, found });
        if (isEffect(recorded)) (isEffect(found) ? done : lacking).add(call[1]);
      }
    }
    const withoutEffect = [...lacking].filter((number) => !done.has(number));
    return { calls, failures, withoutEffect: withoutEffect.map((number) => statements[number] ?? '') };
  } finally {
    for (const player of players.values()) await player.close();
  }
}

/** The other way round of what the recorder does to values that JSON does not have. */
function value(recorded: unknown): unknown {
  if (Array.isArray(recorded)) return recorded.map(value);
  if (typeof recorded !== 'object' || recorded === null) return recorded;
  const { date, base64, bigint } = recorded as { date?: string; base64?: string; bigint?: string };
  if (date !== undefined) return new Date(date);
  if (base64 !== undefined) return Buffer.from(base64, 'base64');
  return bigint === undefined ? recorded : BigInt(bigint);
}

function errorOf(outcome: CallOutcome): string | null {
  return typeof outcome === 'object' && outcome !== null && 'error' in outcome ? outcome.error : null;
}

/** Whether rows came or were changed. */
function isEffect(outcome: CallOutcome): boolean {
  if (Array.isArray(outcome)) return outcome.some(isEffect);
  return typeof outcome === 'number' && outcome > 0;
}

const failed = (error: unknown): CallOutcome => {
  const { code, errno } = error as { code?: unknown; errno?: unknown };
  return { error: String(errno ?? code ?? error) };
};

function openPlayer(url: string): Promise<Player> {
  const provider = providerOfUrl(url);
  if (provider === 'postgresql') return openPg(url);
  return provider === 'mysql' ? openMariadb(url) : Promise.resolve(openSqlite(url));
}

async function openPg(url: string): Promise<Player> {
  // The settings go with the connection there, in no statement of their own.
  const options =
    '-c timezone=UTC -c default_transaction_isolation=read\\ committed -c statement_timeout=10000';
  const client = new pg.Client({ connectionString: url, options });
  client.on('error', () => {});
  await client.connect();
  return {
    run: async (text, values) =>
      client.query(text, [...values]).then(({ rowCount, rows }) => rowCount ?? rows.length, failed),
    close: () => client.end(),
  };
}

async function openMariadb(url: string): Promise<Player> {
  const target = new URL(url);
  const connection = await mariadb.createConnection({
    host: target.hostname,
    port: Number(target.port || 3306),
    user: decodeURIComponent(target.username),
    password: decodeURIComponent(target.password),
    database: decodeURIComponent(target.pathname.slice(1)),
    multipleStatements: true,
    collation: 'UTF8MB4_BIN',
    connectTimeout: 10_000,
  });
  connection.on('error', () => {});
  return {
    run: async (sql, values) => connection.query<unknown>(sql, [...values]).then(counted, failed),
    close: () => connection.end(),
  };
}

function counted(answer: unknown): CallOutcome {
  if (!Array.isArray(answer)) return isChange(answer) ? answer.affectedRows : 0;
  const parts = answer as unknown[];
  const several = parts.length > 0 && parts.every((part) => Array.isArray(part) || isChange(part));
  return several ? parts.map(counted) : parts.length;
}

const isChange = (part: unknown): part is { affectedRows: number } =>
  typeof part === 'object' && part !== null && 'affectedRows' in part;

function openSqlite(url: string): Player {
  const database = new Sqlite(url.replace(/^file:/, ''), { timeout: 5_000 });
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = OFF');
  const run = (sql: string, values: readonly unknown[]): CallOutcome => {
    try {
      if (/^(BEGIN|COMMIT|ROLLBACK)/.test(sql)) {
        database.exec(sql);
        return 0;
      }
      const statement = database.prepare<unknown[]>(sql);
      return statement.reader ? statement.all(...values).length : statement.run(...values).changes;
    } catch (error) {
      return failed(error);
    }
  };
  return {
    run: (sql, values) => Promise.resolve(run(sql, values)),
    close: () => Promise.resolve(void database.close()),
  };
}
