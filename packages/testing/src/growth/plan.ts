import type { RawConnection } from '../raw-connection.js';
import type { TestProvider } from '../providers.js';
import type { SentStatement } from './capture.js';
import { mysqlPlan } from './plan-mysql.js';
import { postgresPlan } from './plan-postgresql.js';
import type { Plan } from './plan-shape.js';
import { sqlitePlan } from './plan-sqlite.js';

/**
 * Asks the database how it would run a statement. Changes nothing, whatever the statement is. Several plans where it
 * may choose: PostgreSQL plans a prepared statement for its values at first, and once for all later.
 */
export async function explain(
  provider: TestProvider,
  raw: RawConnection,
  statement: SentStatement,
): Promise<readonly Plan[]> {
  const { sql, values, prepared } = statement;
  if (provider === 'mysql') return [mysqlPlan(await raw.query(`EXPLAIN FORMAT=JSON ${sql}`, values), sql)];
  if (provider === 'sqlite') return [sqlitePlan(await raw.query(`EXPLAIN QUERY PLAN ${sql}`, values), sql)];
  const planned = postgresPlan(await raw.query(`EXPLAIN (FORMAT JSON) ${sql}`, values));
  return prepared ? [planned, await genericPlan(raw, statement)] : [planned];
}

/** A plan without values: what they are makes no difference to it. */
async function genericPlan(raw: RawConnection, { sql, values }: SentStatement): Promise<Plan> {
  const list = values.length === 0 ? '' : `(${values.map(() => 'NULL').join(', ')})`;
  await raw.run(`SET plan_cache_mode = force_generic_plan; PREPARE growth AS ${sql}`);
  try {
    return postgresPlan(await raw.query(`EXPLAIN (FORMAT JSON) EXECUTE growth${list}`));
  } finally {
    await raw.run('DEALLOCATE growth; RESET plan_cache_mode');
  }
}

/** Whether a statement reads or writes rows at all: not BEGIN, COMMIT, SET and the like. */
export function isExplainable({ sql }: SentStatement): boolean {
  return /^\s*(select|insert|update|delete|with)\b/i.test(sql) && /\b(tasks|task_\w+|push_\w+)\b/.test(sql);
}
