import Sqlite from 'better-sqlite3';
import { ClusterError } from '@a2a-cluster/core';
import { BLOCK_MS } from './busy.js';

/** How a file is opened. */
export interface OpenFile {
  /** Absolute. It must be there: the migrations make it. */
  readonly file: string;
  readonly synchronous: 'FULL' | 'NORMAL';
}

/**
 * Opens the file in WAL mode. May stop the event loop for {@link BLOCK_MS}.
 * @throws the driver's error, or ClusterError `DATABASE_UNSUITABLE` where the file cannot be in WAL mode.
 */
export function openFile(options: OpenFile): Sqlite.Database {
  const { file, synchronous } = options;
  const database = new Sqlite(file, { timeout: BLOCK_MS, fileMustExist: true });
  try {
    const mode: unknown = database.pragma('journal_mode = WAL', { simple: true });
    if (mode !== 'wal') {
      throw new ClusterError(
        'DATABASE_UNSUITABLE',
        `${file} stays in journal mode ${String(mode)}; WAL is needed, which network file systems cannot do`,
      );
    }
    database.pragma(`synchronous = ${synchronous}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}
