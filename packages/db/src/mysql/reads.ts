import { isLost, mayHaveCommitted, storeFault, unknownOutcome } from './faults.js';
import type { Pool } from './pool.js';
import { matchedRows, rowsOf, type Row } from './rows.js';
import type { Statement } from './texts.js';
import { withRetries } from './transaction.js';

/**
 * Runs one reading statement; once more when its connection was lost under it, since reading changes nothing.
 * @throws `ClusterError` `STORE_FAULT` or `DATABASE_UNREACHABLE`.
 */
export async function read(pool: Pool, { sql, values }: Statement): Promise<readonly Row[]> {
  const once = async (): Promise<readonly Row[]> =>
    rowsOf(await pool.use((session) => session.query(sql, values)));
  try {
    return await once().catch((error: unknown) => {
      if (isLost(error)) return once();
      throw error;
    });
  } catch (error) {
    throw storeFault(error);
  }
}

/**
 * Runs one writing statement, a transaction of its own, again after a deadlock or lock timeout. Gives how many rows
 * it matched.
 * @throws `ClusterError` `UNKNOWN_OUTCOME` when its answer was lost, else as {@link read}.
 */
export async function write(pool: Pool, { sql, values }: Statement): Promise<number> {
  return withRetries(pool, () =>
    pool.use(async (session) => {
      try {
        return matchedRows(await session.query(sql, values));
      } catch (error) {
        throw mayHaveCommitted(error) ? unknownOutcome(error) : error;
      }
    }),
  );
}
