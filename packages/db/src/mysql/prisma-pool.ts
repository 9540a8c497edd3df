import { DriverAdapterError } from '@prisma/driver-adapter-utils';
import type { Connection, Pool as DriverPool, QueryOptions } from 'mariadb';
import { isClusterError } from '@a2a-cluster/core';
import { CLIENT_TIMEOUT, isServerAnswer } from './faults.js';
import type { Pool } from './pool.js';
import type { Session } from './session.js';

type Query = (sql: string | QueryOptions, values?: readonly unknown[]) => Promise<unknown>;

/**
 * Our pool in the form that Prisma's adapter takes. So Prisma's queries run under the same settings and limits, on
 * connections that are tested, and no second pool reconnects on its own.
 */
export function asDriverPool(pool: Pool): DriverPool {
  const driverPool = {
    query: translated((sql, values) => pool.use((session) => session.query(sql, values))),
    getConnection: () => lend(pool),
    end: async () => {},
  };
  // The adapter calls these three alone.
  return driverPool as unknown as DriverPool;
}

/** A connection for a transaction of Prisma's: it makes one for a create, to read back what it wrote. */
function lend(pool: Pool): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const lending = pool.use(
      (session) => new Promise<void>((release) => resolve(asConnection(session, release))),
    );
    lending.catch((error: unknown) => reject(translate(error)));
  });
}

function asConnection(session: Session, release: () => void): Connection {
  let open = false;
  const query: Query = async (sql, values) => {
    const text = typeof sql === 'string' ? sql : sql.sql;
    if (text === 'BEGIN') open = true;
    const answer = await session.query(sql, values);
    if (text === 'COMMIT' || text === 'ROLLBACK') open = false;
    return answer;
  };
  const connection = {
    query: translated(query),
    on: () => {},
    off: () => {},
    release: async () => {
      // A transaction that did not end must not meet the next borrower.
      if (open) session.destroy();
      release();
    },
  };
  return connection as unknown as Connection;
}

function translated(query: Query): Query {
  return (sql, values) =>
    query(sql, values).catch((error: unknown) => {
      throw translate(error);
    });
}

/** Lost and missing connections in the adapter's words, which its own driver has none for: Prisma's P10xx. */
function translate(error: unknown): unknown {
  if (isClusterError(error, 'DATABASE_UNREACHABLE'))
    return new DriverAdapterError({ kind: 'DatabaseNotReachable' });
  if (isClusterError(error) || isServerAnswer(error)) return error;
  const timedOut = error instanceof Error && 'code' in error && error.code === CLIENT_TIMEOUT;
  return new DriverAdapterError({ kind: timedOut ? 'SocketTimeout' : 'ConnectionClosed' });
}
