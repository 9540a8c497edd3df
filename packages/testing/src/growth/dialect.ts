import type { TestProvider } from '../providers.js';

/** What the three databases say differently when they make up rows. Everywhere `||` joins texts. */
export interface Dialect {
  /** Run once, on the connection that generates. */
  readonly prepare: readonly string[];
  /** Run at the end. */
  readonly settle: readonly string[];
  /** A table `n(n)` of the whole numbers of a range. */
  numbers(from: number, to: number): string;
  /** So many seconds after the start of 2026, as ISO 8601 text with milliseconds. */
  instant(seconds: string): string;
  /** A moment so many seconds from now, in the form of the lease columns. */
  secondsFromNow(seconds: string): string;
}

const tables = [
  'tasks',
  'task_snapshots',
  'task_events',
  'task_leases',
  'push_notification_configs',
  'push_dead_letters',
];

const recursive = (from: number, to: number): string =>
  `(WITH RECURSIVE r AS (SELECT ${from} AS n UNION ALL SELECT n + 1 FROM r WHERE n < ${to}) SELECT n FROM r) n`;

/** One dialect for each database. */
export const dialects: Record<TestProvider, Dialect> = {
  postgresql: {
    // Not with synchronous_commit off: VACUUM marks no page whose commit is not yet on disk.
    prepare: [],
    settle: tables.map((table) => `VACUUM (ANALYZE) ${table}`),
    numbers: (from, to) => `generate_series(${from}::bigint, ${to}::bigint) AS n(n)`,
    instant: (seconds) =>
      `to_char(timestamp '2026-01-01' + (${seconds}) * interval '1 second', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
    secondsFromNow: (seconds) => `clock_timestamp() + (${seconds}) * interval '1 second'`,
  },
  mysql: {
    // The limit of recursion has one name on MariaDB and another on MySQL.
    prepare: [
      `SET sql_mode = CONCAT(@@sql_mode, ',PIPES_AS_CONCAT'), time_zone = '+00:00'`,
      `SET /*M! max_recursive_iterations = 4294967295 */ /*!80000 cte_max_recursion_depth = 4294967295 */`,
    ],
    settle: [`ANALYZE TABLE ${tables.join(', ')}`],
    numbers: recursive,
    instant: (seconds) =>
      `DATE_FORMAT('2026-01-01' + INTERVAL (${seconds}) SECOND, '%Y-%m-%dT%H:%i:%s') || '.000Z'`,
    secondsFromNow: (seconds) => `SYSDATE(3) + INTERVAL (${seconds}) SECOND`,
  },
  sqlite: {
    prepare: [`PRAGMA synchronous = OFF`],
    // No ANALYZE: nothing in production runs it either, so plans must be right without statistics.
    settle: [],
    numbers: recursive,
    instant: (seconds) => `strftime('%Y-%m-%dT%H:%M:%fZ', '2026-01-01', (${seconds}) || ' seconds')`,
    secondsFromNow: (seconds) => `CAST(unixepoch('subsec') * 1000 AS INTEGER) + (${seconds}) * 1000`,
  },
};
