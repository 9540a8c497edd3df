/** Time limits of one pool's connections. */
export interface SessionLimits {
  /** For one statement, on both sides; in milliseconds. */
  readonly statementMs: number;
  /** For opening a connection, its settings included; in milliseconds. */
  readonly connectMs: number;
  /** For a row lock, and for a transaction whose client says nothing; whole seconds, 1 or more. */
  readonly lockSeconds: number;
}

/**
 * The limits that follow from a TTL: a third of it for locks and silent transactions, in whole seconds because the
 * servers know no finer (protocol 3.12). A client that is stopped inside a transaction so loses it before its
 * lease has been hidden from the sweep for long.
 */
export function lockSecondsOf(ttlMs: number): number {
  return Math.max(1, Math.floor(ttlMs / 3_000));
}

/** Backslash must escape in string literals (the driver's escaping relies on it), and nothing is cut to fit. */
export const SQL_MODE = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION';

/** The statements that set a fresh connection up. Every value is of our own making: nothing is escaped. */
export function sessionSettings(options: {
  readonly isMariaDb: boolean;
  readonly limits: SessionLimits;
}): readonly string[] {
  const { isMariaDb, limits } = options;
  const common = [
    'autocommit = 1',
    `sql_mode = '${SQL_MODE}'`,
    `time_zone = '+00:00'`,
    `innodb_lock_wait_timeout = ${limits.lockSeconds}`,
    // A client stopped in the middle of sending a text is inside its transaction too.
    `net_read_timeout = ${limits.lockSeconds}`,
  ];
  const own = isMariaDb ? mariaDbSettings(limits) : mySqlSettings(limits);
  const set = [...common, ...own].map((assignment) => `SESSION ${assignment}`).join(', ');
  return ['SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED', `SET ${set}`];
}

function mariaDbSettings(limits: SessionLimits): string[] {
  return [
    `idle_transaction_timeout = ${limits.lockSeconds}`,
    `max_statement_time = ${limits.statementMs / 1_000}`,
    // Long IN lists would become a join with a derived table, which locks in another order.
    'in_predicate_conversion_threshold = 0',
  ];
}

function mySqlSettings(limits: SessionLimits): string[] {
  return [
    // MySQL knows no limit for idle transactions alone; pooled connections are tested before they are used.
    `wait_timeout = ${limits.lockSeconds}`,
    `max_execution_time = ${limits.statementMs}`,
    // 0: no limit. Beyond the limit a long IN list would be read by a full scan, locking what it passes.
    'range_optimizer_max_mem_size = 0',
  ];
}
