import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';
import { DatabaseTaskStore } from '@a2a-js/sdk/server/database';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';

/** The SDK's own store. */
export interface SdkStore {
  readonly tasks: DatabaseTaskStore;
  readonly pool: pg.Pool;
  close(): Promise<void>;
}

const run = promisify(execFile);

/** Makes the SDK's tables with the SDK's own command. */
export async function migrateSdkStore(databaseUrl: string): Promise<void> {
  const entry = createRequire(import.meta.url).resolve('@a2a-js/sdk/server/database');
  const command = path.join(entry, '..', '..', '..', 'cli', 'a2a_db.js');
  await run(process.execPath, [command, 'upgrade', '--url', databaseUrl]);
}

/** Opens the SDK's store on a PostgreSQL database that holds its tables. */
export function openSdkStore(options: { readonly databaseUrl: string; readonly poolSize: number }): SdkStore {
  const pool = new pg.Pool({ connectionString: options.databaseUrl, max: options.poolSize });
  pool.on('error', () => {});
  const database = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
  return { tasks: new DatabaseTaskStore(database), pool, close: () => database.destroy() };
}
