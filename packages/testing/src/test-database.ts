import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { migrationFiles } from './migration-files.js';
import { serverUrl, type TestProvider } from './providers.js';
import { openRaw, type RawConnection } from './raw-connection.js';

/** A database that belongs to one test file. */
export interface TestDatabase {
  readonly provider: TestProvider;
  /** What `DATABASE_URL` would be. Absolute for SQLite. */
  readonly url: string;
  /** Removes it and all that was in it, open connections included. A second call does nothing. */
  drop(): Promise<void>;
}

/** What `createTestDatabase` is told. */
export interface TestDatabaseOptions {
  readonly provider: TestProvider;
  /** Default true. With false the database is there but empty, as before the first deploy. */
  readonly migrated?: boolean;
  /** Default true. With false only a name is made up, for tests of what creates a database; `drop()` works. */
  readonly exists?: boolean;
  /** Only the first so many migrations: a database that is behind. */
  readonly upTo?: number;
  /** URL of the server to make it on. Default: see {@link serverUrl}. */
  readonly server?: string;
}

const ledger: Record<TestProvider, string> = {
  sqlite: `CREATE TABLE "_prisma_migrations" ("id" TEXT PRIMARY KEY NOT NULL, "checksum" TEXT NOT NULL,
    "finished_at" DATETIME, "migration_name" TEXT NOT NULL, "logs" TEXT, "rolled_back_at" DATETIME,
    "started_at" DATETIME NOT NULL DEFAULT current_timestamp, "applied_steps_count" INTEGER UNSIGNED NOT NULL DEFAULT 0);`,
  postgresql: `CREATE TABLE "_prisma_migrations" ("id" VARCHAR(36) PRIMARY KEY NOT NULL, "checksum" VARCHAR(64) NOT NULL,
    "finished_at" TIMESTAMPTZ, "migration_name" VARCHAR(255) NOT NULL, "logs" TEXT, "rolled_back_at" TIMESTAMPTZ,
    "started_at" TIMESTAMPTZ NOT NULL DEFAULT now(), "applied_steps_count" INTEGER NOT NULL DEFAULT 0);`,
  mysql: `CREATE TABLE _prisma_migrations (id VARCHAR(36) PRIMARY KEY NOT NULL, checksum VARCHAR(64) NOT NULL,
    finished_at DATETIME(3), migration_name VARCHAR(255) NOT NULL, logs TEXT, rolled_back_at DATETIME(3),
    started_at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), applied_steps_count INTEGER UNSIGNED NOT NULL DEFAULT 0
    ) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;`,
};

const now: Record<TestProvider, string> = {
  sqlite: `CAST(unixepoch('subsec') * 1000 AS INTEGER)`,
  postgresql: 'clock_timestamp()',
  mysql: 'UTC_TIMESTAMP(3)',
};

/**
 * The script that `prisma migrate deploy` would have run, ledger included. The command itself takes 3 s, too long
 * for every test file; test/migrations proves that both give the same tables.
 */
function deployScript(provider: TestProvider, upTo: number | undefined): string {
  const time = now[provider];
  const steps = migrationFiles(provider)
    .slice(0, upTo)
    .map(
      ({ name, sql, checksum }) => `${sql}
INSERT INTO _prisma_migrations (id, checksum, started_at, finished_at, migration_name, applied_steps_count)
  VALUES ('${randomUUID()}', '${checksum}', ${time}, ${time}, '${name}', 1);`,
    );
  const all = [ledger[provider], ...steps].join('\n');
  return provider === 'mysql' ? all : `BEGIN;\n${all}\nCOMMIT;`;
}

async function withRaw(url: string, work: (raw: RawConnection) => Promise<void>): Promise<void> {
  const raw = await openRaw(url);
  try {
    await work(raw);
  } finally {
    await raw.close();
  }
}

async function createFile(): Promise<TestDatabase> {
  const folder = await mkdtemp(path.join(tmpdir(), 'a2a-test-'));
  return {
    provider: 'sqlite',
    url: `file:${path.join(folder, 'cluster.db')}`,
    drop: () => rm(folder, { recursive: true, force: true, maxRetries: 3 }),
  };
}

async function createOnServer(
  provider: 'postgresql' | 'mysql',
  {
    exists,
    server = serverUrl(provider),
  }: { readonly exists: boolean; readonly server?: string | undefined },
): Promise<TestDatabase> {
  const admin = server;
  const name = `a2a_test_${process.pid}_${randomBytes(5).toString('hex')}`;
  // template0: nobody can be connected to it, so parallel workers never find it "being accessed by other users".
  const create =
    provider === 'postgresql' ? `CREATE DATABASE ${name} TEMPLATE template0` : `CREATE DATABASE ${name}`;
  const drop = `DROP DATABASE IF EXISTS ${name}${provider === 'postgresql' ? ' WITH (FORCE)' : ''}`;
  if (exists) await withRaw(admin, (raw) => raw.run(create));
  const url = new URL(admin);
  url.pathname = `/${name}`;
  return { provider, url: url.toString(), drop: () => withRaw(admin, (raw) => raw.run(drop)) };
}

/**
 * Makes an empty or migrated database of its own, under a name no other worker uses. SQLite: a file in the system's
 * temporary folder; the servers: see {@link serverUrl}. Nothing stays behind after `drop()`. Takes some 100 ms.
 */
export async function createTestDatabase(options: TestDatabaseOptions): Promise<TestDatabase> {
  const { provider, exists = true, migrated = exists, upTo, server } = options;
  const database =
    provider === 'sqlite' ? await createFile() : await createOnServer(provider, { exists, server });
  if (!migrated) return database;
  try {
    await withRaw(database.url, (raw) => raw.run(deployScript(provider, upTo)));
  } catch (error) {
    await database.drop();
    throw error;
  }
  return database;
}
