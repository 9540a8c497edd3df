import { openRaw, type TestProvider } from '@a2a-cluster/testing';

/** The columns, indexes and settings of a table, as the database tells them. */
export type Fingerprint = Record<string, unknown[]>;

const ledger = '_prisma_migrations';

const questions: Record<TestProvider, string[]> = {
  sqlite: [
    `SELECT tbl_name AS t, type, name, sql FROM sqlite_master WHERE tbl_name <> '${ledger}' ORDER BY tbl_name, type, name`,
  ],
  postgresql: [
    `SELECT table_name AS t, column_name, udt_name, datetime_precision, is_nullable, column_default, collation_name
       FROM information_schema.columns WHERE table_schema = current_schema() AND table_name <> '${ledger}'
      ORDER BY table_name, ordinal_position`,
    `SELECT tablename AS t, indexname, indexdef FROM pg_indexes
      WHERE schemaname = current_schema() AND tablename <> '${ledger}' ORDER BY tablename, indexname`,
    `SELECT c.relname AS t, c.reloptions, (SELECT count(*)::int FROM pg_trigger g WHERE g.tgrelid = c.oid) AS triggers,
            (SELECT count(*)::int FROM pg_constraint k WHERE k.conrelid = c.oid) AS constraints
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = current_schema() AND c.relkind = 'r' AND c.relname <> '${ledger}' ORDER BY c.relname`,
  ],
  mysql: [
    `SELECT table_name AS t, column_name, column_type, is_nullable, column_default, collation_name
       FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name <> '${ledger}'
      ORDER BY table_name, ordinal_position`,
    `SELECT table_name AS t, index_name, seq_in_index, column_name, non_unique FROM information_schema.statistics
      WHERE table_schema = DATABASE() AND table_name <> '${ledger}' ORDER BY table_name, index_name, seq_in_index`,
    `SELECT table_name AS t, engine, table_collation FROM information_schema.tables
      WHERE table_schema = DATABASE() AND table_name <> '${ledger}' ORDER BY table_name`,
  ],
};

/** What stands in a database, by table, the migration ledger left out. Equal databases give equal fingerprints. */
export async function fingerprint(provider: TestProvider, url: string): Promise<Fingerprint> {
  const raw = await openRaw(url);
  try {
    const found: Fingerprint = {};
    for (const question of questions[provider]) {
      for (const { t, ...facts } of await raw.query(question)) (found[String(t)] ??= []).push(facts);
    }
    return found;
  } finally {
    await raw.close();
  }
}
