import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3';
import {
  DriverAdapterError,
  type SqlDriverAdapter,
  type SqlDriverAdapterFactory,
  type SqlQuery,
  type Transaction,
} from '@prisma/driver-adapter-utils';
import type { Clock } from '@a2a-cluster/core';
import { RETRY_BLOCK_MS, isBusyCode, isPast, pause } from './busy.js';
import { FifoLock } from './fifo-lock.js';
import type { OpenFile } from './open-file.js';

/** Options of {@link SafeSqlite}. */
export interface SafeSqliteOptions extends OpenFile {
  readonly clock: Clock;
  /** How long a statement or BEGIN may wait for another connection's write lock. */
  readonly patienceMs: number;
}

/** What is used of the driver's connection that the adapter keeps to itself. */
interface DriverConnection {
  readonly inTransaction: boolean;
  pragma(text: string): unknown;
}

/**
 * Prisma's SQLite adapter with sound transactions. The adapter runs every query of a client on one connection and
 * does not keep plain queries out of an open transaction (they see its rows and are rolled back with it), begins
 * transactions DEFERRED (read-then-write fails at once under WAL) and never recovers from a failed BEGIN or COMMIT
 * (prisma/prisma#29933). This factory keeps its conversions and replaces its handling of transactions and locks.
 * Moments are whole milliseconds, as in the migrations.
 */
export class SafeSqlite implements SqlDriverAdapterFactory {
  readonly provider = 'sqlite';
  readonly adapterName = '@prisma/adapter-better-sqlite3';
  private readonly options: SafeSqliteOptions;

  constructor(options: SafeSqliteOptions) {
    this.options = options;
  }

  /** Called by Prisma at the first query. */
  async connect(): Promise<SqlDriverAdapter> {
    const { file, synchronous, clock, patienceMs } = this.options;
    const factory = new PrismaBetterSqlite3(
      { url: `file:${file}`, timeout: RETRY_BLOCK_MS, fileMustExist: true },
      { timestampFormat: 'unixepoch-ms' },
    );
    const inner = await factory.connect();
    const driver = (inner as unknown as { readonly client: DriverConnection }).client;
    driver.pragma(`synchronous = ${synchronous}`);
    return new SafeAdapter({ inner, driver, clock, patienceMs }).adapter();
  }
}

interface SafeParts {
  readonly inner: SqlDriverAdapter;
  readonly driver: DriverConnection;
  readonly clock: Clock;
  readonly patienceMs: number;
}

/** One connection: plain queries one by one, and none of them inside somebody's transaction. */
class SafeAdapter {
  private readonly lock = new FifoLock();
  private readonly parts: SafeParts;

  constructor(parts: SafeParts) {
    this.parts = parts;
  }

  adapter(): SqlDriverAdapter {
    const { inner } = this.parts;
    return {
      provider: inner.provider,
      adapterName: inner.adapterName,
      queryRaw: (query) => this.plain(() => inner.queryRaw(query)),
      executeRaw: (query) => this.plain(() => inner.executeRaw(query)),
      executeScript: (script) => this.plain(() => inner.executeScript(script)),
      dispose: () => inner.dispose(),
      startTransaction: async (level) => {
        if (level && level !== 'SERIALIZABLE') {
          throw new DriverAdapterError({ kind: 'InvalidIsolationLevel', level });
        }
        return this.begin();
      },
    };
  }

  private plain<T>(query: () => Promise<T>): Promise<T> {
    return this.lock.run(() => this.patiently(query));
  }

  private async begin(): Promise<Transaction> {
    const release = await this.lock.acquire();
    const { inner } = this.parts;
    try {
      await this.patiently(() => this.execute('BEGIN IMMEDIATE'));
    } catch (error) {
      release();
      throw error;
    }
    const finish = (): Promise<void> => this.finish(release);
    return {
      provider: inner.provider,
      adapterName: inner.adapterName,
      options: { usePhantomQuery: false },
      queryRaw: (query: SqlQuery) => inner.queryRaw(query),
      executeRaw: (query: SqlQuery) => inner.executeRaw(query),
      commit: finish,
      rollback: finish,
      createSavepoint: (name) => this.execute(`SAVEPOINT ${name}`),
      rollbackToSavepoint: (name) => this.execute(`ROLLBACK TO ${name}`),
      releaseSavepoint: (name) => this.execute(`RELEASE SAVEPOINT ${name}`),
    };
  }

  /** Prisma has sent COMMIT or ROLLBACK itself; where that failed, the connection is freed here. */
  private async finish(release: () => void): Promise<void> {
    try {
      if (this.parts.driver.inTransaction) await this.execute('ROLLBACK');
    } finally {
      release();
    }
  }

  private async execute(sql: string): Promise<void> {
    await this.parts.inner.executeRaw({ sql, args: [], argTypes: [] });
  }

  /** Tries again while another connection holds the lock; the event loop runs in between. */
  private async patiently<T>(action: () => Promise<T>): Promise<T> {
    const { clock, patienceMs } = this.parts;
    const deadline = { clock, atMs: clock.monotonicMs() + patienceMs };
    for (;;) {
      try {
        return await action();
      } catch (error) {
        if (!isBusy(error)) throw error;
        if (isPast(deadline)) throw givenUp(error);
      }
      await pause();
    }
  }
}

function originalCodeOf(error: unknown): string | undefined {
  return error instanceof DriverAdapterError ? error.cause.originalCode : undefined;
}

function isBusy(error: unknown): boolean {
  return isBusyCode(originalCodeOf(error));
}

/** Told as an error of the statement, not of the connection (P1008): it is certain that nothing was stored. */
function givenUp(error: unknown): DriverAdapterError {
  const originalCode = originalCodeOf(error) ?? 'SQLITE_BUSY';
  const message = 'others held the write lock all the time';
  return new DriverAdapterError({ kind: 'sqlite', extendedCode: 5, originalCode, message });
}
