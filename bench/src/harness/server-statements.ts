import { openRaw } from '@a2a-cluster/testing';

/** What the server itself says of the statements sent to one database. */
export interface ServerStatements {
  /** How many since the count began or was last taken, this question apart. */
  take(): Promise<number>;
  close(): Promise<void>;
}

const TOTAL = `SELECT coalesce(sum(calls), 0)::int AS calls FROM pg_stat_statements
  WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND query NOT LIKE '%pg_stat_statements%'`;

/**
 * Counts by `pg_stat_statements`, over all connections of the database; null where the server does not have it (it
 * must be in `shared_preload_libraries`). The counting driver in the processes is the other witness.
 */
export async function openServerStatements(databaseUrl: string): Promise<ServerStatements | null> {
  const raw = await openRaw(databaseUrl);
  const read = async (): Promise<number> => Number((await raw.query(TOTAL))[0]?.['calls']);
  try {
    await raw.run('CREATE EXTENSION IF NOT EXISTS pg_stat_statements');
    let before = await read();
    return {
      take: async () => {
        const now = await read();
        const calls = now - before;
        before = now;
        return calls;
      },
      close: () => raw.close(),
    };
  } catch {
    await raw.close();
    return null;
  }
}
