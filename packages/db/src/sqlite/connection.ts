import type Sqlite from 'better-sqlite3';
import { isClusterError, type Clock } from '@a2a-cluster/core';
import { closedFault, storeFault, unknownOutcome, unreachable } from '../errors/faults.js';
import { BLOCK_MS, RETRY_BLOCK_MS, isBusyCode, isPast, pause, sqliteCodeOf, type Deadline } from './busy.js';
import { FifoLock } from './fifo-lock.js';
import { openFile, type OpenFile } from './open-file.js';
import { SqliteSession } from './session.js';

/** One transaction: synchronous, so no await can stand between BEGIN and COMMIT (protocol 3.5). */
export interface SqliteCall<T> {
  /** For logs and errors. */
  readonly name: string;
  readonly writes: boolean;
  work(session: SqliteSession): T;
}

/** Callers that queue among themselves for the write lock, and how long they may try. */
export interface SqliteLane {
  /** @throws ClusterError `STORE_FAULT` (nothing stored), `UNKNOWN_OUTCOME`, `DATABASE_UNREACHABLE` or `CLOSED`. */
  run<T>(call: SqliteCall<T>, withinMs?: number): Promise<T>;
}

type Attempt<T> = { readonly value: T } | { readonly busy: unknown };

/** After these the connection is opened anew: the file was moved, or what the connection knows of it is doubtful. */
const DOUBTFUL = /^SQLITE_(IOERR|CANTOPEN|NOTADB|CORRUPT|READONLY_DBMOVED|PROTOCOL)/;

/**
 * One connection to a file, opened when it is first needed and again after an error that puts it in doubt. All
 * callers of a process share it: each transaction is one synchronous call.
 */
export class SqliteConnection {
  private readonly target: OpenFile;
  private readonly clock: Clock;
  private database: Sqlite.Database | undefined;
  private session: SqliteSession | undefined;
  private generation = 0;
  private blockMs = BLOCK_MS;
  private closed = false;

  constructor(target: OpenFile, clock: Clock) {
    this.target = target;
    this.clock = clock;
  }

  /** A lane of its own: a beat does not queue behind requests. */
  lane(patienceMs: number): SqliteLane {
    // Reads pass a write lock that others hold, so they do not stand behind writes that wait for it.
    const queues = { reads: new FifoLock(), writes: new FifoLock() };
    return {
      run: async (call, withinMs = patienceMs) => {
        const deadline = { clock: this.clock, atMs: this.clock.monotonicMs() + withinMs };
        const queue = call.writes ? queues.writes : queues.reads;
        if (queue.free) {
          const first = this.attempt(call, BLOCK_MS);
          if ('value' in first) return first.value;
        }
        return queue.run(() => this.retry(call, deadline));
      },
    };
  }

  /** Changes when another connection has committed, or this one was opened anew. Reads no table. */
  dataVersion(): number {
    try {
      const { database } = this.opened('dataVersion');
      return this.generation * 2 ** 32 + Number(database.pragma('data_version', { simple: true }));
    } catch (error) {
      throw this.faultOf({ name: 'dataVersion', writes: false }, error);
    }
  }

  close(): void {
    this.closed = true;
    this.drop();
  }

  private async retry<T>(call: SqliteCall<T>, deadline: Deadline): Promise<T> {
    for (let cause: unknown = new Error('others held the write lock all the time'); ;) {
      if (isPast(deadline)) throw storeFault({ statement: call.name, cause, serverCode: 'SQLITE_BUSY' });
      const attempt = this.attempt(call, RETRY_BLOCK_MS);
      if ('value' in attempt) return attempt.value;
      cause = attempt.busy;
      await pause();
    }
  }

  private attempt<T>(call: SqliteCall<T>, blockMs: number): Attempt<T> {
    let committing = false;
    try {
      const { database, session } = this.opened(call.name);
      this.blockFor(database, blockMs);
      database.exec(call.writes ? 'BEGIN IMMEDIATE' : 'BEGIN');
      const value = call.work(session);
      committing = call.writes;
      database.exec('COMMIT');
      return { value };
    } catch (error) {
      const rolledBack = this.rollBack();
      const busy = isBusyCode(sqliteCodeOf(error));
      if (busy && rolledBack) return { busy: error };
      if (committing) throw this.dropAfter(unknownOutcome({ statement: call.name, cause: error }));
      throw this.faultOf(call, error);
    }
  }

  private blockFor(database: Sqlite.Database, blockMs: number): void {
    if (this.blockMs === blockMs) return;
    database.pragma(`busy_timeout = ${blockMs}`);
    this.blockMs = blockMs;
  }

  /** Whether it is certain that nothing of the transaction stays. */
  private rollBack(): boolean {
    try {
      if (this.database?.inTransaction) this.database.exec('ROLLBACK');
      return true;
    } catch {
      this.drop();
      return false;
    }
  }

  private opened(statement: string): { database: Sqlite.Database; session: SqliteSession } {
    if (this.closed) throw closedFault(statement);
    this.database ??= openFile(this.target);
    this.session ??= new SqliteSession(this.database);
    return { database: this.database, session: this.session };
  }

  private faultOf(call: Pick<SqliteCall<unknown>, 'name' | 'writes'>, cause: unknown): Error {
    if (isClusterError(cause)) return cause;
    const code = sqliteCodeOf(cause);
    if (code === undefined && !this.database) {
      return unreachable({ statement: call.name, cause });
    }
    const fault = { statement: call.name, cause, ...(code !== undefined && { serverCode: code }) };
    if (code === undefined || !DOUBTFUL.test(code)) return storeFault(fault);
    return this.dropAfter(unreachable(fault));
  }

  private dropAfter<E extends Error>(error: E): E {
    this.drop();
    return error;
  }

  private drop(): void {
    const { database } = this;
    this.database = undefined;
    this.session = undefined;
    this.generation += 1;
    this.blockMs = BLOCK_MS;
    try {
      database?.close();
    } catch {
      // The descriptor goes with the process; what was asked has been answered already.
    }
  }
}
