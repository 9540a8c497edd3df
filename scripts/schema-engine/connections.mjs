// Plain driver connections, for what the wasm engine does not do: look, create, check.
import { createRequire } from 'node:module';
import path from 'node:path';
import { connectError } from './errors.mjs';

const require = createRequire(import.meta.url);
const connectTimeoutMs = 10_000;

/** @typedef {'sqlite' | 'postgresql' | 'mysql'} Dialect */

/**
 * From the URL, else from the `provider` in the schema's text.
 * @param {string | undefined} databaseUrl
 * @param {string} schemaText
 * @returns {Dialect | undefined}
 */
export function dialectOf(databaseUrl, schemaText) {
  if (databaseUrl?.startsWith('file:')) return 'sqlite';
  if (/^postgres(ql)?:/.test(databaseUrl ?? '')) return 'postgresql';
  if (/^(mysql|mariadb):/.test(databaseUrl ?? '')) return 'mysql';
  const named = /datasource\s+\w+\s*\{[^}]*?provider\s*=\s*"(\w+)"/s.exec(schemaText)?.[1];
  return named === 'postgres' ? 'postgresql' : named;
}

/** @param {string} databaseUrl */
export function sqliteFile(databaseUrl) {
  return path.resolve(databaseUrl.replace(/^file:(\/\/)?/, '').replace(/\?.*$/, ''));
}

/** @param {string} databaseUrl */
export function databaseName(databaseUrl) {
  return decodeURIComponent(new URL(databaseUrl).pathname.slice(1));
}

/** The PostgreSQL schema that a URL names. @param {string} databaseUrl */
export function schemaName(databaseUrl) {
  return new URL(databaseUrl).searchParams.get('schema') ?? 'public';
}

/** @param {string} databaseUrl @param {string} name another database on the same server */
export function onDatabase(databaseUrl, name) {
  const url = new URL(databaseUrl);
  url.pathname = `/${encodeURIComponent(name)}`;
  return url.toString();
}

/** @param {string} databaseUrl */
export async function connectPostgres(databaseUrl) {
  const pg = require('pg');
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: connectTimeoutMs });
  await client.connect().catch((error) => {
    throw connectError(error, databaseUrl);
  });
  return client;
}

/** `sslaccept` is Prisma's word, `ssl` the MariaDB driver's. @param {URLSearchParams} query */
function mysqlTls(query) {
  const accept = query.get('sslaccept');
  if (accept) return { ssl: { rejectUnauthorized: accept === 'strict' } };
  return query.get('ssl') === 'true' ? { ssl: true } : {};
}

/**
 * @param {string} databaseUrl
 * @param {{ withoutDatabase?: boolean }} [options]
 */
export async function connectMysql(databaseUrl, { withoutDatabase = false } = {}) {
  const mariadb = require('mariadb');
  const url = new URL(databaseUrl);
  return mariadb
    .createConnection({
      host: url.hostname,
      port: Number(url.port || 3306),
      user: decodeURIComponent(url.username),
      password: decodeURIComponent(url.password),
      ...(withoutDatabase ? {} : { database: databaseName(databaseUrl) }),
      ...mysqlTls(url.searchParams),
      connectTimeout: connectTimeoutMs,
      multipleStatements: true,
      timezone: 'Z',
    })
    .catch((error) => {
      throw connectError(error, databaseUrl);
    });
}
