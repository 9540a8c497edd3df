import { ClusterError, type Clock } from '@a2a-cluster/core';
import { openSession, type Session, type SessionOptions } from './session.js';

/** Options of {@link createPool}. */
export interface PoolOptions extends SessionOptions {
  /** Names the pool in errors. */
  readonly name: string;
  /** Most connections at a time. */
  readonly size: number;
}

/** Connections that are lent one at a time. */
export interface Pool {
  readonly clock: Clock;
  /** The limit of one statement, in milliseconds. */
  readonly statementMs: number;
  /**
   * Lends a connection for as long as `work` runs. It comes back unless it died meanwhile; what `work` leaves open
   * in it is the work's affair.
   * @throws `ClusterError` `DATABASE_UNREACHABLE` when none can be opened, `STORE_FAULT` when all are busy for the
   * statement limit, `CLOSED` after close; and whatever `work` throws.
   */
  use<T>(work: (session: Session) => Promise<T>): Promise<T>;
  /** Ends every connection; busy ones are given a moment, then cut. Idempotent, bounded, never rejects. */
  close(): Promise<void>;
}

/** A connection that rested longer is asked for an answer before it is used: the server may have ended it. */
const TEST_AFTER_MS = 500;
/** How long that answer may take; never more than half the statement limit. */
const TEST_LIMIT_MS = 1_000;
/** How long close waits for busy connections, and for each goodbye. */
const CLOSE_GRACE_MS = 1_000;

interface Waiter {
  resolve(session: Session): void;
  reject(error: unknown): void;
}

/**
 * A pool of connections. The driver's own is not used: it tells a refused connect only after its whole waiting
 * time, emits errors that end the process when nobody listens, and cannot cut a connection that hangs.
 */
export function createPool(options: PoolOptions): Pool {
  const pool = new ConnectionPool(options);
  return {
    clock: options.clock,
    statementMs: options.limits.statementMs,
    use: (work) => pool.use(work),
    close: () => pool.close(),
  };
}

class ConnectionPool {
  readonly #options: PoolOptions;
  readonly #all = new Set<Session>();
  readonly #resting: { readonly session: Session; readonly sinceMs: number }[] = [];
  readonly #waiters: Waiter[] = [];
  /** Connections that are open or being opened. */
  #count = 0;
  #closing: Promise<void> | null = null;
  #whenEmpty: (() => void) | null = null;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  async use<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const session = await this.#acquire();
    try {
      return await work(session);
    } finally {
      this.#giveBack(session);
    }
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #acquire(): Promise<Session> {
    const testMs = Math.min(TEST_LIMIT_MS, this.#options.limits.statementMs / 2);
    for (let rested = this.#resting.pop(); rested; rested = this.#resting.pop()) {
      const idleMs = this.#options.clock.monotonicMs() - rested.sinceMs;
      const { session } = rested;
      if (session.isAlive() && (idleMs < TEST_AFTER_MS || (await session.isAnswering(testMs))))
        return session;
      this.#forget(session);
    }
    if (this.#closing) throw this.#closed();
    return this.#count < this.#options.size ? this.#open() : this.#wait();
  }

  async #open(): Promise<Session> {
    this.#count += 1;
    let session: Session;
    try {
      session = await openSession(this.#options);
    } catch (error) {
      this.#forget(null);
      throw error;
    }
    this.#all.add(session);
    if (!this.#closing) return session;
    this.#giveBack(session);
    throw this.#closed();
  }

  #wait(): Promise<Session> {
    const { clock, limits, name, size } = this.#options;
    return new Promise((resolve, reject) => {
      let settled = false;
      const settle = (): boolean => {
        if (settled) return false;
        timer.cancel();
        return (settled = true);
      };
      const waiter: Waiter = {
        // What was opened for a caller that has given up serves the next.
        resolve: (session) => (settle() ? resolve(session) : this.#giveBack(session)),
        reject: (error) => void (settle() && reject(error)),
      };
      const timer = clock.setTimer(limits.statementMs, () => {
        const place = this.#waiters.indexOf(waiter);
        if (place >= 0) this.#waiters.splice(place, 1);
        const message = `all ${size} ${name} connections were busy for ${limits.statementMs} ms`;
        waiter.reject(new ClusterError('STORE_FAULT', message, { details: { errno: null, pool: name } }));
      });
      this.#waiters.push(waiter);
    });
  }

  #giveBack(session: Session): void {
    if (!session.isAlive()) return this.#forget(session);
    if (this.#closing) return void session.end(CLOSE_GRACE_MS).then(() => this.#forget(session));
    const waiter = this.#waiters.shift();
    if (waiter) return waiter.resolve(session);
    this.#resting.push({ session, sinceMs: this.#options.clock.monotonicMs() });
  }

  /** One connection less; whoever waits may open another. */
  #forget(session: Session | null): void {
    if (session && !this.#all.delete(session)) return;
    this.#count -= 1;
    if (this.#count === 0) this.#whenEmpty?.();
    const waiter = this.#closing ? undefined : this.#waiters.shift();
    if (waiter) this.#open().then(waiter.resolve, waiter.reject);
  }

  #giveBackAll(): void {
    for (const { session } of this.#resting.splice(0)) this.#giveBack(session);
  }

  async #close(): Promise<void> {
    for (const waiter of this.#waiters.splice(0)) waiter.reject(this.#closed());
    // `#closing` is set once this function has yielded; what rests is ended after that.
    await Promise.resolve();
    this.#giveBackAll();
    if (this.#count === 0) return;
    await new Promise<void>((resolve) => {
      const timer = this.#options.clock.setTimer(2 * CLOSE_GRACE_MS, resolve);
      this.#whenEmpty = () => (timer.cancel(), resolve());
    });
    for (const session of this.#all) session.destroy();
    this.#options.logger.debug(
      { pool: this.#options.name, cut: this.#all.size },
      'database connections closed',
    );
  }

  #closed(): ClusterError {
    return new ClusterError('CLOSED', `the ${this.#options.name} connections are closed`);
  }
}
