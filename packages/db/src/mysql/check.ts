import { ClusterError, errorText } from '@a2a-cluster/core';
import { judgeSchema } from '../errors/schema-fault.js';
import { compareMigrations, type AppliedMigration } from '../migrations/compare-migrations.js';
import { expectedMigrations } from '../migrations/expected.js';
import { storeFault } from './faults.js';
import type { Pool } from './pool.js';
import { read } from './reads.js';
import { numberAt, textAt } from './rows.js';
import type { Session } from './session.js';
import {
  SLEEP_MS,
  WATCHED_VARIABLES,
  unsuitabilities,
  warningsOf,
  type ServerFacts,
} from './server-facts.js';
import { statement } from './texts.js';

/** What {@link checkMysql} looks at. */
export interface MysqlCheck {
  /** Every pool: their sessions are set up alike, and each is asked. */
  readonly pools: readonly Pool[];
  readonly maxEventBytes: number;
}

/**
 * The start check of MySQL and MariaDB (protocol 1 to 3). The oldest version is enforced at every connect.
 * @returns warnings: what works, with a risk.
 * @throws `ClusterError`, see `Database.check`.
 */
export async function checkMysql({ pools, maxEventBytes }: MysqlCheck): Promise<readonly string[]> {
  const warnings = new Set<string>();
  for (const pool of pools) {
    const facts = await pool.use(readFacts).catch(rethrow);
    const complaints = unsuitabilities(facts, { maxEventBytes });
    if (complaints.length > 0)
      throw new ClusterError('DATABASE_UNSUITABLE', `${facts.serverVersion}: ${complaints.join('; ')}`, {
        details: { ...facts.variables },
      });
    for (const warning of warningsOf(facts)) warnings.add(warning);
  }
  const [pool] = pools;
  if (pool) for (const warning of await checkSchema(pool)) warnings.add(warning);
  return [...warnings];
}

function rethrow(error: unknown): never {
  throw storeFault(error);
}

async function readFacts(session: Session): Promise<ServerFacts> {
  const variables = await session.query('SHOW SESSION VARIABLES WHERE Variable_name IN (?)', [
    WATCHED_VARIABLES,
  ]);
  // Read from left to right: the sleep lies between the start of the statement, which NOW tells, and SYSDATE.
  const clock = await session.query(
    `SELECT TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), NOW()) AS offset_s, SLEEP(?) AS slept,
      TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) AS ahead_us`,
    [SLEEP_MS / 1_000],
  );
  const [reading = {}] = clock as Record<string, unknown>[];
  const pairs = (variables as Record<string, unknown>[]).map(
    (row) => [textAt(row, 'Variable_name'), textAt(row, 'Value')] as const,
  );
  return {
    isMariaDb: session.isMariaDb,
    serverVersion: session.serverVersion,
    variables: Object.fromEntries(pairs),
    offsetSeconds: numberAt(reading, 'offset_s'),
    sysdateAheadUs: numberAt(reading, 'ahead_us'),
  };
}

const TABLES = [
  'tasks',
  'task_snapshots',
  'task_events',
  'task_leases',
  'push_notification_configs',
  'push_dead_letters',
];

async function checkSchema(pool: Pool): Promise<readonly string[]> {
  const tables = await read(
    pool,
    statement(
      `SELECT TABLE_NAME AS name, ENGINE AS engine, TABLE_COLLATION AS collation FROM information_schema.TABLES
        WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN (?)`,
      ['_prisma_migrations', ...TABLES],
    ),
  );
  const found = new Map(tables.map((row) => [textAt(row, 'name'), row]));
  if (!found.has('_prisma_migrations') && found.has('tasks'))
    // The SDK's own store, or somebody else's.
    throw new ClusterError(
      'SCHEMA_FOREIGN',
      'the database has a table "tasks" that no migration of a2a-cluster made. Give a2a-cluster a database of its own.',
    );
  const ledger = found.has('_prisma_migrations') ? await readLedger(pool) : [];
  const warning = judgeSchema(compareMigrations(ledger, expectedMigrations.mysql));
  for (const name of TABLES) {
    const engine = found.get(name)?.['engine'];
    if (engine !== 'InnoDB')
      throw new ClusterError(
        'DATABASE_UNSUITABLE',
        `table ${name} is of engine ${String(engine)}, not InnoDB`,
      );
  }
  await checkCollations(pool);
  return warning === null ? [] : [warning];
}

async function readLedger(pool: Pool): Promise<readonly AppliedMigration[]> {
  try {
    const sql = 'SELECT migration_name, checksum, finished_at, rolled_back_at FROM _prisma_migrations';
    const rows = await read(pool, statement(sql));
    return rows.map((row) => ({
      migration_name: textAt(row, 'migration_name'),
      checksum: textAt(row, 'checksum'),
      finished_at: row['finished_at'],
      rolled_back_at: row['rolled_back_at'],
    }));
  } catch (error) {
    const denied = error instanceof ClusterError && [1142, 1143].includes(Number(error.details['errno']));
    if (!denied) throw error;
    const text = `the user may not read its own migrations: ${errorText(error)}`;
    throw new ClusterError('DATABASE_UNSUITABLE', text, { cause: error });
  }
}

/** Ids, tenants and owners compare byte for byte only under this collation (protocol 1). */
async function checkCollations(pool: Pool): Promise<void> {
  const sql = `SELECT TABLE_NAME AS table_name, COLUMN_NAME AS column_name, COLLATION_NAME AS collation
    FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN (?)
    AND COLLATION_NAME <> 'utf8mb4_bin' LIMIT 1`;
  const [row] = await read(pool, statement(sql, TABLES));
  if (!row) return;
  const column = `${textAt(row, 'table_name')}.${textAt(row, 'column_name')}`;
  throw new ClusterError(
    'DATABASE_UNSUITABLE',
    `column ${column} has collation ${textAt(row, 'collation')}; it must be utf8mb4_bin`,
  );
}
