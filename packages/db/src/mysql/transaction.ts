import { isClusterError, sleep } from '@a2a-cluster/core';
import { endsConnection, isRetryable, mayHaveCommitted, storeFault, unknownOutcome } from './faults.js';
import type { Pool } from './pool.js';
import { rowsOf, type Row } from './rows.js';
import type { Session } from './session.js';
import { joinStatements, packStatements, statement, type Statement } from './texts.js';

/** One transaction of two trips: locking reads, then writes and COMMIT (protocol 3.5). */
export interface Transaction {
  /** The longest text the server takes, in bytes. */
  readonly maxPacketBytes: number;
  /** Sends reads as one text; the first call begins the transaction. Gives the rows of each. */
  read(...statements: readonly Statement[]): Promise<readonly (readonly Row[])[]>;
  /**
   * Sends the writes and the COMMIT, as one text unless the server takes no text that long. Without an earlier
   * read the transaction begins here too.
   */
  commit(statements: readonly Statement[]): Promise<void>;
}

const BEGIN = statement('START TRANSACTION');
const COMMIT = statement('COMMIT');

/** A deadlock or lock timeout is tried again this often, as long as the statement limit has not passed. */
const MAX_TRIES = 6;
/** The longest pause before the second try; it doubles. Random below that, or two losers meet again. */
const FIRST_PAUSE_MS = 10;

/**
 * Runs `work` in a transaction of its own. Work that returns without `commit` has refused: it is rolled back. Any
 * error rolls back too, or destroys the connection.
 *
 * Deadlocks, lock timeouts and 1020 start `work` again, from its first read.
 * @throws `ClusterError` `UNKNOWN_OUTCOME` when the text with COMMIT was sent and its answer lost; `STORE_FAULT`,
 * `DATABASE_UNREACHABLE` or `EVENT_TOO_LARGE` when nothing was stored.
 */
export async function transact<T>(pool: Pool, work: (transaction: Transaction) => Promise<T>): Promise<T> {
  return withRetries(pool, () => pool.use((session) => attempt(session, work)));
}

/** Tries again what lost a deadlock or waited too long for a lock; names every other error. */
export async function withRetries<T>(pool: Pool, action: () => Promise<T>): Promise<T> {
  const { clock, statementMs } = pool;
  const giveUpMs = clock.monotonicMs() + statementMs;
  for (let tries = 1; ; tries += 1) {
    try {
      return await action();
    } catch (error) {
      if (!isRetryable(error) || tries >= MAX_TRIES || clock.monotonicMs() > giveUpMs)
        throw storeFault(error);
      await sleep({ clock, delayMs: Math.random() * FIRST_PAUSE_MS * 2 ** (tries - 1) });
    }
  }
}

async function attempt<T>(session: Session, work: (transaction: Transaction) => Promise<T>): Promise<T> {
  let open = false;
  const begin = (): readonly Statement[] => (open ? [] : ((open = true), [BEGIN]));
  const transaction: Transaction = {
    maxPacketBytes: session.maxPacketBytes,
    async read(...statements) {
      const opening = begin();
      const { sql, values } = joinStatements([...opening, ...statements]);
      const answer = await session.query(sql, values);
      const results = opening.length + statements.length === 1 ? [answer] : (answer as readonly unknown[]);
      return results.slice(opening.length).map(rowsOf);
    },
    async commit(statements) {
      const texts = packStatements([...begin(), ...statements, COMMIT], session.maxPacketBytes);
      for (const text of texts.slice(0, -1)) await session.query(text.sql, text.values);
      await sendCommit(session, texts.at(-1) ?? COMMIT);
      open = false;
    },
  };
  try {
    return await work(transaction);
  } catch (error) {
    // Not only the statement: a lock timeout undoes no more than that, and the rest must not be committed later.
    if (endsConnection(error) && !isClusterError(error)) session.destroy();
    throw error;
  } finally {
    if (open) await rollback(session);
  }
}

async function sendCommit(session: Session, text: Statement): Promise<void> {
  try {
    await session.query(text.sql, text.values);
  } catch (error) {
    if (!mayHaveCommitted(error)) throw error;
    session.destroy();
    throw unknownOutcome(error);
  }
}

async function rollback(session: Session): Promise<void> {
  if (!session.isAlive()) return;
  try {
    await session.query('ROLLBACK');
  } catch {
    session.destroy();
  }
}
