import { sleep, type Clock, type Logger } from '@a2a-cluster/core';
import pg from 'pg';
import {
  connectFault,
  isReadOnly,
  isStartupParameterRefused,
  keepsConnection,
  statementFault,
} from '../errors/postgresql-faults.js';
import type { Prepared } from './prepared.js';
import type { Statement } from './statement.js';

/** A pool of connections with the faults of this project. */
export interface Connections {
  /** For Prisma only: everything else goes through {@link Connections.run}. */
  readonly pool: pg.Pool;
  /** Runs one statement on any connection. Rejects with a `ClusterError`. */
  run<R extends pg.QueryResultRow>(statement: Statement, values: readonly unknown[]): Promise<R[]>;
  /** Ends all connections, at the latest after `withinMs` by closing their sockets. Idempotent. */
  close(withinMs: number): Promise<void>;
}

/** Options of {@link createConnections}. */
export interface ConnectionsOptions {
  readonly config: pg.PoolConfig;
  /** Shared by all pools of a database. */
  readonly prepared: Prepared;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** Opens no connection yet. Statements are prepared, see {@link Prepared}. */
export function createConnections(options: ConnectionsOptions): Connections {
  const { logger, clock, prepared } = options;
  const pool = new pg.Pool(options.config);
  const clients = watch(pool, options);
  let closing: Promise<void> | undefined;

  async function acquire(name: string): Promise<pg.PoolClient> {
    for (;;) {
      const client = await connect(pool, logger).catch((error: unknown) => {
        throw connectFault(name, error);
      });
      if (!clients.stale.has(client)) return client;
      client.release(true);
    }
  }

  return {
    pool,
    async run<R extends pg.QueryResultRow>(statement: Statement, values: readonly unknown[]): Promise<R[]> {
      const client = await acquire(statement.name);
      try {
        const { rows } = await prepared.query<R>(client, statement, values);
        client.release();
        return rows;
      } catch (cause) {
        if (isReadOnly(cause)) clients.evict();
        // A connection whose answer is still to come, or never will, serves nobody else.
        client.release(!keepsConnection(cause) || clients.stale.has(client));
        throw statementFault({ statement: statement.name, writes: statement.writes, cause });
      }
    },
    close: (withinMs) => (closing ??= closePool({ pool, open: clients.open, clock, withinMs })),
  };
}

/**
 * Connects, and where a pooler refuses our start parameters connects without them for good. The settings must then
 * come from the role (`ALTER ROLE .. SET`); the start check proves that they do.
 */
async function connect(pool: pg.Pool, logger: Logger): Promise<pg.PoolClient> {
  const config: pg.PoolConfig = pool.options;
  // As this attempt knew it: another one may be refused, and change it, meanwhile.
  const { options } = config;
  try {
    return await pool.connect();
  } catch (error) {
    if (!isStartupParameterRefused(error) || options === undefined) throw error;
    if (config.options !== undefined)
      logger.warn({}, 'the pooler refuses session settings; they must be set on the role');
    delete config.options;
    return pool.connect();
  }
}

interface WatchedClients {
  readonly open: ReadonlySet<pg.PoolClient>;
  /** Connections to a server that turned read-only. */
  readonly stale: WeakSet<pg.PoolClient>;
  evict(): void;
}

/** Until the server takes writes again every statement meets it: that is said once in a while. */
const READ_ONLY_EVERY_MS = 10_000;

/** Keeps errors of connections, idle or in use, from ending the process, and knows which connections there are. */
function watch(pool: pg.Pool, { logger, clock }: ConnectionsOptions): WatchedClients {
  let saidAtMs: number | null = null;
  const open = new Set<pg.PoolClient>();
  const stale = new WeakSet<pg.PoolClient>();
  // The pool removes a broken connection by itself; without a listener its `error` event would be thrown.
  pool.on('error', (error) => logger.warn({ error: error.message }, 'an idle connection failed'));
  pool.on('connect', (client) => {
    open.add(client);
    // The pool's own listener is off while a connection is in use. Its statement rejects as well.
    client.on('error', () => {});
    client.on('end', () => void open.delete(client));
  });
  return {
    open,
    stale,
    evict() {
      const nowMs = clock.monotonicMs();
      if (saidAtMs === null || nowMs - saidAtMs >= READ_ONLY_EVERY_MS) {
        saidAtMs = nowMs;
        logger.warn({ connections: open.size }, 'the server is read-only: leaving its connections');
      }
      for (const client of open) stale.add(client);
      // Idle ones are taken and dropped now, also those that Prisma would meet.
      for (let idle = pool.idleCount; idle > 0; idle -= 1)
        pool.connect().then(
          (client) => client.release(stale.has(client)),
          () => {},
        );
    },
  };
}

async function closePool(close: {
  readonly pool: pg.Pool;
  readonly open: ReadonlySet<pg.PoolClient>;
  readonly clock: Clock;
  readonly withinMs: number;
}): Promise<void> {
  const { pool, open, clock, withinMs } = close;
  const given = new AbortController();
  // The pool's promise settles before its sockets do: wait for those as well.
  const ended = pool.end().then(() => Promise.all([...open].map(endOf)));
  await Promise.race([ended, sleep({ clock, delayMs: withinMs, signal: given.signal })]);
  given.abort();
  for (const client of open) socketOf(client)?.destroy();
}

function endOf(client: pg.PoolClient): Promise<void> {
  return new Promise((resolve) => {
    client.once('end', () => resolve());
  });
}

/** The driver has no public way to drop a connection whose statement hangs; `end()` waits for the server. */
export function socketOf(client: object): { destroy(): void } | undefined {
  return (client as { connection?: { stream?: { destroy(): void } } }).connection?.stream;
}
