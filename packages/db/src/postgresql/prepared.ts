import { createHash } from 'node:crypto';
import type { Logger } from '@a2a-cluster/core';
import type pg from 'pg';
import { sqlStateOf } from '../errors/postgresql-faults.js';
import type { Statement } from './statement.js';

/**
 * The server does not know the name (26000), or knows it already (42P05). A pooler that gives every transaction
 * another server connection, and keeps no account of names, as PgBouncer before 1.21, causes both. Either is found
 * before the statement runs, so sending it again cannot double a write.
 */
const NAME_LOST = new Set(['26000', '42P05']);

/** A table was altered under a prepared statement: the plan gives other columns than it promised. Nothing ran. */
const PLAN_OUTDATED = '0A000';

/**
 * Sends statements by name, so that the server parses and plans them once per connection: half the time of a commit.
 * Where names get lost on the way it goes on without them.
 */
export interface Prepared {
  /** Runs a statement on a connection that is lent to the caller. Rejects with the driver's error. */
  query<R extends pg.QueryResultRow>(
    client: pg.PoolClient,
    statement: Statement,
    values: readonly unknown[],
  ): Promise<pg.QueryResult<R>>;
}

/**
 * A name is made of the statement's own and a digest of its text: through a pooler it may meet a statement that
 * another version of this package has prepared, and must not run that.
 */
export function createPrepared({ logger }: { readonly logger: Logger }): Prepared {
  const names = new Map<string, string>();
  let named = true;

  function nameOf({ name, text }: Statement): string {
    let made = names.get(text);
    if (made === undefined) {
      made = `${name}_${createHash('sha256').update(text).digest('hex').slice(0, 12)}`;
      names.set(text, made);
    }
    return made;
  }

  return {
    async query<R extends pg.QueryResultRow>(
      client: pg.PoolClient,
      statement: Statement,
      values: readonly unknown[],
    ): Promise<pg.QueryResult<R>> {
      const unnamed = { text: statement.text, values: [...values] };
      if (!named || statement.once) return client.query<R>(unnamed);
      try {
        return await client.query<R>({ ...unnamed, name: nameOf(statement) });
      } catch (error) {
        const state = sqlStateOf(error) ?? '';
        if (NAME_LOST.has(state)) {
          if (named)
            logger.warn({}, 'prepared statements get lost on the way to the server: going on without them');
          named = false;
        } else if (state !== PLAN_OUTDATED || !/cached plan/.test((error as Error).message)) throw error;
        return client.query<R>(unnamed);
      }
    },
  };
}
