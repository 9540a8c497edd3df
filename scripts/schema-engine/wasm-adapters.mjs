// Driver adapters as the wasm engine needs them. Each mends what the stock adapter, made for queries, does to scripts.
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { connectPostgres, onDatabase, schemaName, sqliteFile } from './connections.mjs';
import { createSchema, quoted } from './databases.mjs';
import { EngineError } from './errors.mjs';

const require = createRequire(import.meta.url);

/** Column type "char" (oid 18) stands in the catalogs and is unknown to the adapter; text (25) reads the same. */
const charOid = 18;
const textOid = 25;

/** The engine's question about a partial index has its name in double quotes, which this SQLite takes for a column. */
function mendQuotes(query) {
  const asked = /^(SELECT sql FROM sqlite_master WHERE type = 'index' AND name = )"([^"']+)";$/.exec(
    query.sql,
  );
  return asked ? { ...query, sql: `${asked[1]}'${asked[2]}'` } : query;
}

/** How long a deploy waits for the file: as long as another deploy may take, on a machine that is busy. */
const WAIT_MS = 30_000;

/** The engine takes the file for itself, in a way that every other process with the file open keeps it from. */
const inUse = new EngineError(
  'P1008',
  'The database file is in use. SQLite is migrated while nobody else has the file open: stop every replica on it, deploy, then start them again.',
);

/** The adapter's word for it is one that this engine does not know. */
const isBusy = (error) => error.cause?.kind === 'SocketTimeout' || /^SQLITE_BUSY/.test(error.code ?? '');

/** The engine sends scripts of several statements as one, which better-sqlite3 refuses to prepare. */
function withScripts(adapter) {
  for (const method of ['executeRaw', 'queryRaw']) {
    const single = adapter[method].bind(adapter);
    adapter[method] = async (query) => {
      try {
        return await single(mendQuotes(query));
      } catch (error) {
        const several = /more than one statement/.test(
          `${error.message} ${JSON.stringify(error.cause ?? '')}`,
        );
        if (query.args.length > 0 || !several) throw isBusy(error) ? inUse : error;
        await adapter.executeScript(query.sql);
        return method === 'executeRaw' ? 0 : { columnNames: [], columnTypes: [], rows: [] };
      }
    };
  }
  return adapter;
}

/** @param {string | undefined} databaseUrl undefined: in memory, for comparisons without a database */
export async function sqliteFactory(databaseUrl) {
  const { PrismaBetterSqlite3 } = await import('@prisma/adapter-better-sqlite3');
  const url = databaseUrl ? `file:${sqliteFile(databaseUrl)}` : ':memory:';
  // The native engine's form for moments, and ours (prisma/README.md).
  const stock = new PrismaBetterSqlite3({ url, timeout: WAIT_MS }, { timestampFormat: 'unixepoch-ms' });
  return {
    provider: stock.provider,
    adapterName: stock.adapterName,
    connect: async () => withScripts(await stock.connect()),
    connectToShadowDb: async () => withScripts(await stock.connectToShadowDb()),
  };
}

/** Libpq's `options` splits at spaces; backslash keeps them. @param {string} schema */
function searchPath(schema) {
  return `-c search_path=${quoted(schema).replace(/[\\ ]/g, '\\$&')}`;
}

async function postgresAdapter(databaseUrl, { afterwards } = {}) {
  const { PrismaPg } = await import('@prisma/adapter-pg');
  const pg = require('pg');
  const schema = schemaName(databaseUrl);
  // One connection: the advisory lock and the scripts must share a session.
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1, options: searchPath(schema) });
  const query = pool.query.bind(pool);
  pool.query = async (...parameters) => {
    const result = await query(...parameters);
    for (const field of [result].flat().flatMap((one) => one.fields ?? []))
      if (field.dataTypeID === charOid) field.dataTypeID = textOid;
    return result;
  };
  const adapter = await new PrismaPg(pool, { schema }).connect();
  // The stock adapter splits a script at every `;`, which breaks $$-quoted bodies. PostgreSQL takes it whole.
  adapter.executeScript = async (script) => {
    try {
      await query(script);
    } catch (error) {
      adapter.onError(error);
    }
  };
  adapter.dispose = async () => {
    await pool.end();
    await afterwards?.();
  };
  return adapter;
}

async function administer(databaseUrl, sql) {
  const client = await connectPostgres(onDatabase(databaseUrl, 'postgres'));
  await client.query(sql).finally(() => client.end());
}

/**
 * @param {string} databaseUrl
 * @param {{ offline: boolean }} options offline: the engine wants a connection, but no database of ours is meant
 */
export function postgresFactory(databaseUrl, { offline }) {
  return {
    provider: 'postgres',
    adapterName: '@prisma/adapter-pg',
    connect: () => postgresAdapter(offline ? onDatabase(databaseUrl, 'postgres') : databaseUrl),
    connectToShadowDb: async () => {
      const database = `prisma_migrate_shadow_db_${randomUUID()}`;
      const name = quoted(database);
      await administer(databaseUrl, `CREATE DATABASE ${name}`);
      const shadowUrl = onDatabase(databaseUrl, database);
      await createSchema({ dialect: 'postgresql', databaseUrl: shadowUrl });
      return postgresAdapter(shadowUrl, {
        afterwards: () => administer(databaseUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
      });
    },
  };
}
