// What stands in a database before anything of ours is put there. Reads only.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connectMysql, connectPostgres, schemaName, sqliteFile } from './connections.mjs';

const require = createRequire(import.meta.url);
const ledgerTable = '_prisma_migrations';

/**
 * @typedef {object} Survey
 * @property {string[]} tables names, the migration ledger's left out
 * @property {string[]} migrations names in the ledger
 * @property {string[]} taskColumns columns of a table named `tasks`
 */

/**
 * Tables first, then the ledger: a deploy that runs beside this one writes its row before it makes the table.
 * @param {{ tables: () => Promise<string[]>, names: (sql: string) => Promise<string[]>, ledger: string, columns: () => Promise<string[]> }} source
 * @returns {Promise<Survey>}
 */
async function read({ tables, names, ledger, columns }) {
  const all = await tables();
  return {
    tables: all.filter((name) => name !== ledgerTable),
    migrations: all.includes(ledgerTable) ? await names(ledger) : [],
    taskColumns: all.includes('tasks') ? await columns() : [],
  };
}

async function surveySqlite(databaseUrl) {
  const file = sqliteFile(databaseUrl);
  if (!existsSync(file)) return { tables: [], migrations: [], taskColumns: [] };
  const database = new (require('better-sqlite3'))(file, { readonly: true, timeout: 10_000 });
  const names = async (sql) => database.prepare(sql).pluck().all();
  try {
    return await read({
      names,
      tables: () =>
        names(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
               AND name NOT LIKE '\\_litestream%' ESCAPE '\\' ORDER BY name`),
      ledger: `SELECT migration_name FROM "${ledgerTable}"`,
      columns: () => names(`SELECT name FROM pragma_table_info('tasks')`),
    });
  } finally {
    database.close();
  }
}

async function surveyPostgres(databaseUrl) {
  const client = await connectPostgres(databaseUrl);
  const schema = schemaName(databaseUrl);
  const names = async (sql, parameters = []) =>
    (await client.query(sql, parameters)).rows.map((row) => row.name);
  try {
    return await read({
      // What an extension brought along (PostGIS, statistics) is nobody's application.
      tables: () =>
        names(
          `SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'f')
              AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e') ORDER BY 1`,
          [schema],
        ),
      names,
      ledger: `SELECT migration_name AS name FROM "${schema.replaceAll('"', '""')}"."${ledgerTable}"`,
      columns: () =>
        names(
          `SELECT column_name AS name FROM information_schema.columns WHERE table_schema = $1 AND table_name = 'tasks'`,
          [schema],
        ),
    });
  } finally {
    await client.end();
  }
}

async function surveyMysql(databaseUrl) {
  const connection = await connectMysql(databaseUrl);
  const names = async (sql) => (await connection.query(sql)).map((row) => row.name);
  try {
    return await read({
      tables: () =>
        names(`SELECT table_name AS name FROM information_schema.tables
                WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE' ORDER BY 1`),
      names,
      ledger: `SELECT migration_name AS name FROM ${ledgerTable}`,
      columns: () =>
        names(`SELECT column_name AS name FROM information_schema.columns
                WHERE table_schema = DATABASE() AND table_name = 'tasks'`),
    });
  } finally {
    await connection.end();
  }
}

/**
 * @param {import('./databases.mjs').Target} target
 * @returns {Promise<Survey>}
 */
export function survey({ dialect, databaseUrl }) {
  if (dialect === 'postgresql') return surveyPostgres(databaseUrl);
  return dialect === 'mysql' ? surveyMysql(databaseUrl) : surveySqlite(databaseUrl);
}
