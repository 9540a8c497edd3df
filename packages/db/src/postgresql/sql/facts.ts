import type { Statement } from '../statement.js';

/** Everything the start check asks about a connection, in one statement. */
export const facts: Statement = {
  name: 'check',
  writes: false,
  text: `
SELECT current_setting('server_version_num')::int AS version_num, current_setting('server_version') AS version,
       current_setting('server_encoding') AS encoding, current_setting('TimeZone') AS time_zone,
       current_setting('transaction_isolation') AS isolation, pg_is_in_recovery() AS in_recovery,
       current_setting('transaction_read_only') = 'on' AS read_only, current_schema()::text AS schema,
       current_setting('lock_timeout') AS lock_timeout, current_setting('statement_timeout') AS statement_timeout,
       current_setting('idle_in_transaction_session_timeout') AS idle_timeout,
       current_setting('synchronous_commit') AS synchronous_commit, current_setting('fsync') AS fsync,
       current_setting('full_page_writes') AS full_page_writes,
       (SELECT count(*)::int FROM pg_stat_replication) AS standbys,
       current_setting('synchronous_standby_names') AS synchronous_standbys,
       (SELECT string_agg(c.relname, ', ' ORDER BY c.relname) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
         WHERE NOT i.indisvalid AND c.relnamespace::regnamespace::text = quote_ident(current_schema()))
         AS invalid_indexes,
       to_regclass('_prisma_migrations') IS NOT NULL AS has_ledger, to_regclass('tasks') IS NOT NULL AS has_tasks`,
};

/** The answer of {@link facts}. */
export interface Facts {
  readonly version_num: number;
  readonly version: string;
  readonly encoding: string;
  readonly time_zone: string;
  readonly isolation: string;
  readonly in_recovery: boolean;
  readonly read_only: boolean;
  /** Null: the schema of the search path does not exist. */
  readonly schema: string | null;
  /** '0': none. */
  readonly lock_timeout: string;
  readonly statement_timeout: string;
  readonly idle_timeout: string;
  readonly synchronous_commit: string;
  readonly fsync: string;
  readonly full_page_writes: string;
  /** How many servers follow this one now, of whatever kind; roles without rights see their number too. */
  readonly standbys: number;
  /** Empty: none is waited for. */
  readonly synchronous_standbys: string;
  /** Names of indexes of our schema that a build has left, or is about to finish. */
  readonly invalid_indexes: string | null;
  readonly has_ledger: boolean;
  readonly has_tasks: boolean;
}

/** The rows of Prisma's ledger. */
export const ledger: Statement = {
  name: 'check',
  writes: false,
  text: `
SELECT migration_name, checksum, finished_at, rolled_back_at FROM _prisma_migrations
 ORDER BY started_at, migration_name`,
};
