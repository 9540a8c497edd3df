import { ClusterError, errorText } from '@a2a-cluster/core';
import type { HintSource } from '../database.js';
import { judgeSchema } from '../errors/schema-fault.js';
import { compareMigrations, type AppliedMigration } from '../migrations/compare-migrations.js';
import { expectedMigrations } from '../migrations/expected.js';
import { sqlStateOf } from '../errors/postgresql-faults.js';
import type { Connections } from './connections.js';
import { judgeFacts } from './facts.js';
import { facts as factsStatement, ledger, type Facts } from './sql/facts.js';

/** What {@link checkPostgres} looks at. */
export interface PostgresCheck {
  readonly requests: Connections;
  readonly beats: Connections;
  readonly hints: HintSource & { readonly kind: 'listen' };
  readonly schema: string;
}

/**
 * The start check of PostgreSQL: settings proved on both pools, the schema, and whether LISTEN works.
 * @returns warnings: things that work, only worse.
 * @throws `ClusterError`, see `Database.check`.
 */
export async function checkPostgres(check: PostgresCheck): Promise<readonly string[]> {
  const facts = await readFacts(check.requests);
  const warnings = new Set([...judgeFacts(facts), ...judgeFacts(await readFacts(check.beats))]);
  const schemaWarning = judgeSchema(
    compareMigrations(await readLedger(check, facts), expectedMigrations.postgresql),
  );
  if (schemaWarning !== null) warnings.add(schemaWarning);
  const hintWarning = await tryToListen(check.hints);
  if (hintWarning !== null) warnings.add(hintWarning);
  return [...warnings];
}

async function readFacts(connections: Connections): Promise<Facts> {
  const [row] = await connections.run<Facts>(factsStatement, []);
  if (row === undefined) throw new ClusterError('BUG', 'the settings of a connection gave no row');
  return row;
}

async function readLedger(check: PostgresCheck, facts: Facts): Promise<readonly AppliedMigration[]> {
  const { requests, schema } = check;
  if (facts.schema !== null && facts.schema !== schema)
    throw new ClusterError(
      'DATABASE_UNSUITABLE',
      `the search path leads to schema ${facts.schema}, not ${schema}: ALTER ROLE .. SET search_path`,
    );
  if (facts.has_ledger) return requests.run<AppliedMigration>(ledger, []).catch(explainDenied);
  // No ledger and yet a table of our name: the SDK's own store, or somebody else's.
  if (facts.has_tasks)
    throw new ClusterError(
      'SCHEMA_FOREIGN',
      `schema ${schema} has a table "tasks" that no migration of a2a-cluster made. Give a2a-cluster a database or a schema of its own: ?schema=a2a_cluster in DATABASE_URL.`,
    );
  return [];
}

function explainDenied(error: unknown): never {
  if (error instanceof Error && sqlStateOf(error.cause) === '42501') {
    const text = `the role may not read its own migrations: ${errorText(error)}`;
    throw new ClusterError('DATABASE_UNSUITABLE', text, { cause: error });
  }
  throw error;
}

/** Without LISTEN everything works, only later: other replicas then find events by asking. */
async function tryToListen(hints: PostgresCheck['hints']): Promise<string | null> {
  try {
    const listener = await hints.listen({ onHint: () => {}, onLost: () => {} });
    await listener.close();
    return null;
  } catch (error) {
    return `no hints between replicas, the log is polled instead: ${errorText(error)}. Without a pooler, or with one in session mode, there are hints`;
  }
}
