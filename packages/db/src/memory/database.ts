import { createSystemClock, type Clock } from '@a2a-cluster/core';
import type { Database } from '../database.js';
import { memoryDatabaseOver } from './statements.js';
import { MemoryTables } from './tables.js';

/** Options of {@link createMemoryDatabase}. */
export interface MemoryDatabaseOptions {
  /**
   * Its monotonic time stands for the database's clock, so a test that moves it makes leases expire. Default: the
   * process's own.
   */
  readonly clock?: Clock;
}

/**
 * A database in the memory of this process: the same promises as the others but for durability. Several replicas of
 * one process may share one; it is never closed for the others, so `close()` changes nothing.
 */
export function createMemoryDatabase(options: MemoryDatabaseOptions = {}): Database {
  return memoryDatabaseOver(new MemoryTables(options.clock ?? createSystemClock()));
}
