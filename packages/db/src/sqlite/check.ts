import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import path from 'node:path';
import { ClusterError, errorText, isClusterError } from '@a2a-cluster/core';
import { judgeSchema } from '../errors/schema-fault.js';
import { compareMigrations, type AppliedMigration } from '../migrations/compare-migrations.js';
import { expectedMigrations } from '../migrations/expected.js';
import type { SqliteLane } from './connection.js';
import { fileSystemWarning, type FileSystemProbe } from './file-system.js';
import type { OpenFile } from './open-file.js';
import { numberOrNull, textAt } from './rows.js';
import type { SqliteSession } from './session.js';

const DEPLOY = 'Make it with `DATABASE_URL=... npx prisma migrate deploy`.';

/**
 * The start check of SQLite: the file is there, ours to write, a database in WAL mode, with this build's tables.
 * @returns warnings: things that work, only worse.
 * @throws ClusterError, see `Database.check`.
 */
export async function checkSqlite(
  target: OpenFile,
  lane: SqliteLane,
  probe?: FileSystemProbe,
): Promise<readonly string[]> {
  await checkPath(target.file);
  await explained(target.file, lane.run({ name: 'check', writes: true, work: () => {} }));
  const applied = await explained(target.file, lane.run({ name: 'check', writes: false, work: readLedger }));
  const schemaWarning = judgeSchema(compareMigrations(applied, expectedMigrations.sqlite));
  const warnings = schemaWarning === null ? [] : [schemaWarning];
  if (target.synchronous === 'NORMAL') {
    warnings.push(
      'synchronous is NORMAL: a power loss may take the last acknowledged events with it; FULL, the default, keeps them',
    );
  }
  const fileSystem = await fileSystemWarning(target.file, probe);
  if (fileSystem !== null) warnings.push(fileSystem);
  return warnings;
}

/** Says which part of a path is at fault, which SQLite's "unable to open database file" does not. */
async function checkPath(file: string): Promise<void> {
  const folder = path.dirname(file);
  const folderStat = await stat(folder).catch(() => null);
  if (!folderStat)
    throw missing(
      `the directory ${folder} of the database file does not exist. Create it, then the database: ${DEPLOY}`,
    );
  if (!folderStat.isDirectory()) throw unsuitable(`${folder} is not a directory`);
  const fileStat = await stat(file).catch(() => null);
  if (!fileStat) throw missing(`there is no database file ${file}. ${DEPLOY}`);
  if (!fileStat.isFile()) throw unsuitable(`${file} is not a file`);
  await allowed(file, `the database file ${file} cannot be read and written by this user`);
  // SQLite keeps its -wal and -shm beside the file, and the last to close removes them.
  await allowed(folder, `the directory ${folder} of the database file cannot be written by this user`);
}

async function allowed(place: string, text: string): Promise<void> {
  await access(place, constants.R_OK | constants.W_OK).catch((cause: unknown) => {
    throw unsuitable(text, cause);
  });
}

const TABLES = `SELECT name FROM sqlite_master WHERE type = 'table' AND name IN ('_prisma_migrations', 'tasks')`;
const LEDGER = `SELECT migration_name, checksum, finished_at IS NOT NULL AS finished, rolled_back_at IS NOT NULL AS undone
  FROM _prisma_migrations ORDER BY started_at`;

function readLedger(session: SqliteSession): readonly AppliedMigration[] {
  const tables = new Set(session.all(TABLES).map((row) => textAt(row, 'name')));
  if (tables.has('_prisma_migrations')) {
    return session.all(LEDGER).map((row) => ({
      migration_name: textAt(row, 'migration_name'),
      checksum: textAt(row, 'checksum'),
      finished_at: numberOrNull(row, 'finished') === 1 ? true : null,
      rolled_back_at: numberOrNull(row, 'undone') === 1 ? true : null,
    }));
  }
  if (tables.has('tasks')) {
    throw new ClusterError(
      'SCHEMA_FOREIGN',
      'the file has a table "tasks" that no migration of a2a-cluster made. Give a2a-cluster a file of its own.',
    );
  }
  return [];
}

/** Errors of the first statements, in terms of the file. */
async function explained<T>(file: string, run: Promise<T>): Promise<T> {
  try {
    return await run;
  } catch (error) {
    const code = isClusterError(error) ? error.details['serverCode'] : undefined;
    if (code === 'SQLITE_NOTADB') throw unsuitable(`${file} is not an SQLite database`, error);
    if (String(code).startsWith('SQLITE_READONLY')) throw unsuitable(`${file} cannot be written`, error);
    if (String(code).startsWith('SQLITE_BUSY')) {
      throw missing(`${file} stays locked by another process: ${errorText(error)}`, error);
    }
    throw error;
  }
}

function missing(text: string, cause?: unknown): ClusterError {
  return new ClusterError('DATABASE_UNREACHABLE', text, { cause });
}

function unsuitable(text: string, cause?: unknown): ClusterError {
  return new ClusterError('DATABASE_UNSUITABLE', text, { cause });
}
