// The table `_prisma_migrations` on MySQL and MariaDB, in Prisma's own form: the native engine reads the same rows.
import { createHash, randomUUID } from 'node:crypto';

const createTable = `CREATE TABLE IF NOT EXISTS _prisma_migrations (
  id VARCHAR(36) PRIMARY KEY NOT NULL, checksum VARCHAR(64) NOT NULL, finished_at DATETIME(3),
  migration_name VARCHAR(255) NOT NULL, logs TEXT, rolled_back_at DATETIME(3),
  started_at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), applied_steps_count INTEGER UNSIGNED NOT NULL DEFAULT 0
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci`;

/**
 * @typedef {object} Row
 * @property {string} id
 * @property {string} migration_name
 * @property {string} checksum
 * @property {Date} started_at
 * @property {Date | null} finished_at
 * @property {Date | null} rolled_back_at
 * @property {string | null} logs
 */

/** @param {string} sql */
export const checksumOf = (sql) => createHash('sha256').update(sql).digest('hex');

/** @param {Row} row */
export const isFailed = (row) => !row.finished_at && !row.rolled_back_at;

/** @param {() => Promise<import('mariadb').Connection>} connect */
export function createLedger(connect) {
  const run = async (sql, values) => (await connect()).query(sql, values);
  return {
    /** Rows by start; null where there is no such table. @returns {Promise<Row[] | null>} */
    async rows() {
      const there = await run(
        "SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '_prisma_migrations'",
      );
      return there.length > 0 ? run('SELECT * FROM _prisma_migrations ORDER BY started_at') : null;
    },
    create: () => run(createTable),
    /** @returns {Promise<string>} the row's id */
    async begin(name, sql) {
      const id = randomUUID();
      const insert =
        'INSERT INTO _prisma_migrations (id, checksum, started_at, migration_name) VALUES (?, ?, UTC_TIMESTAMP(3), ?)';
      await run(insert, [id, checksumOf(sql), name]);
      return id;
    },
    finish: (id) =>
      run(
        'UPDATE _prisma_migrations SET applied_steps_count = applied_steps_count + 1, finished_at = UTC_TIMESTAMP(3) WHERE id = ?',
        [id],
      ),
    fail: (id, logs) => run('UPDATE _prisma_migrations SET logs = ? WHERE id = ?', [logs, id]),
    rollBack: (id) =>
      run('UPDATE _prisma_migrations SET rolled_back_at = UTC_TIMESTAMP(3) WHERE id = ?', [id]),
    record: (name, sql) =>
      run(
        "INSERT INTO _prisma_migrations (id, checksum, logs, started_at, finished_at, migration_name) VALUES (?, ?, '', UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), ?)",
        [randomUUID(), checksumOf(sql), name],
      ),
  };
}
