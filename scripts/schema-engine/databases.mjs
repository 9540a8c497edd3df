// `schema-engine cli can-connect-to-database` and `cli create-database`.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import {
  connectMysql,
  connectPostgres,
  databaseName,
  onDatabase,
  schemaName,
  sqliteFile,
} from './connections.mjs';
import { EngineError } from './errors.mjs';

/** @typedef {{ dialect: import('./connections.mjs').Dialect, databaseUrl: string }} Target */

/**
 * Rejects with P1003 when the database is not there yet.
 * @param {Target} target
 */
export async function canConnect({ dialect, databaseUrl }) {
  if (dialect === 'postgresql') return (await connectPostgres(databaseUrl)).end();
  if (dialect === 'mysql') return (await connectMysql(databaseUrl)).end();
  const file = sqliteFile(databaseUrl);
  if (!existsSync(file)) throw new EngineError('P1003', `Database \`${path.basename(file)}\` does not exist`);
}

/** Two deploys may race to create the same thing: who comes second finds it there, which is what it wanted. */
async function unlessThere(work, codes) {
  try {
    await work();
  } catch (error) {
    if (!codes.includes(error.code)) throw error;
  }
}

/** @param {string} name */
export const quoted = (name) => `"${name.replaceAll('"', '""')}"`;
/** @param {string} name */
export const backticked = (name) => `\`${name.replaceAll('`', '``')}\``;

async function createPostgres(databaseUrl) {
  const client = await connectPostgres(onDatabase(databaseUrl, 'postgres'));
  const create = `CREATE DATABASE ${quoted(databaseName(databaseUrl))}`;
  await unlessThere(() => client.query(create), ['42P04', '23505']).finally(() => client.end());
}

async function createMysql(databaseUrl) {
  const connection = await connectMysql(databaseUrl, { withoutDatabase: true });
  const create = `CREATE DATABASE ${backticked(databaseName(databaseUrl))} CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci`;
  await unlessThere(() => connection.query(create), ['ER_DB_CREATE_EXISTS']).finally(() => connection.end());
}

/** @param {Target} target */
export async function createDatabase({ dialect, databaseUrl }) {
  if (dialect === 'postgresql') return createPostgres(databaseUrl);
  if (dialect === 'mysql') return createMysql(databaseUrl);
  const file = sqliteFile(databaseUrl);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, '', { flag: 'a' });
}

/**
 * Makes the schema of `?schema=` if it is missing (PostgreSQL only).
 * @param {Target} target
 */
export async function createSchema({ dialect, databaseUrl }) {
  if (dialect !== 'postgresql') return;
  const client = await connectPostgres(databaseUrl);
  try {
    const name = schemaName(databaseUrl);
    const there = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [name]);
    // Asked first: IF NOT EXISTS wants the right to create schemas even where there is nothing to do.
    if (there.rowCount === 0)
      await unlessThere(() => client.query(`CREATE SCHEMA ${quoted(name)}`), ['42P06', '23505']);
  } finally {
    await client.end();
  }
}
