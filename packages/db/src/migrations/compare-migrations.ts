import type { MigrationProvider } from './database-url.js';

/** One migration of this build. */
export interface ExpectedMigration {
  /** Folder name below `prisma/<provider>/migrations`. */
  readonly name: string;
  /** SHA-256 of its `migration.sql`, in hex. */
  readonly checksum: string;
}

/** The migrations of this build per provider, in the order in which they are applied. */
export type ExpectedMigrations = Readonly<Record<MigrationProvider, readonly ExpectedMigration[]>>;

/**
 * One row of `_prisma_migrations`. Of the two moments only "is there" counts, so they may come in whatever form the
 * driver has for them.
 */
export interface AppliedMigration {
  readonly migration_name: string;
  readonly checksum: string;
  /** null while it runs, and for ever when it failed. */
  readonly finished_at: unknown;
  /** Set when an operator marked a failed one as undone. */
  readonly rolled_back_at: unknown;
}

/** What a database is to this build. */
export interface MigrationComparison {
  /**
   * - `current`: all of ours, nothing else.
   * - `behind`: some of ours are missing (an empty database too). Deploy.
   * - `ahead`: all of ours and later ones: a newer version has deployed. This build may run, as old replicas do
   *   during a rollout.
   * - `failed`: one of ours was begun and did not finish.
   * - `foreign`: the ledger is another application's, or one of ours was changed after it was applied.
   */
  readonly state: 'current' | 'behind' | 'ahead' | 'failed' | 'foreign';
  /** Names of ours that have not been applied. */
  readonly missing: readonly string[];
  /** For people: what is the matter and what to do. */
  readonly message: string;
}

const deployHint = 'Run `DATABASE_URL=... npx prisma migrate deploy` in the root of a2a-cluster.';

function namesOf(rows: readonly { readonly migration_name: string }[]): string {
  return rows.map((row) => row.migration_name).join(', ');
}

function isForeign(strangers: readonly AppliedMigration[], known: number, last: string): boolean {
  // Later names beside ours are a newer version's. Names before our last one were never ours.
  return strangers.length > 0 && (known === 0 || strangers.some((row) => row.migration_name < last));
}

/**
 * Compares the rows of `_prisma_migrations` (an empty list where there is no such table) with what this build
 * expects. Pure: no clock, no database. Rows that were rolled back count as never applied.
 */
export function compareMigrations(
  applied: readonly AppliedMigration[],
  expected: readonly ExpectedMigration[],
): MigrationComparison {
  const rows = applied.filter((row) => row.rolled_back_at == null);
  const checksums = new Map(expected.map(({ name, checksum }) => [name, checksum]));
  const ours = rows.filter((row) => checksums.has(row.migration_name));
  const strangers = rows.filter((row) => !checksums.has(row.migration_name));
  const done = new Set(ours.filter((row) => row.finished_at != null).map((row) => row.migration_name));
  const missing = expected.map(({ name }) => name).filter((name) => !done.has(name));

  if (isForeign(strangers, ours.length, expected.at(-1)?.name ?? '')) {
    const message = `The database holds another application's migrations: ${namesOf(strangers)}. Give a2a-cluster a database of its own, or a schema (PostgreSQL: ?schema=a2a_cluster in DATABASE_URL).`;
    return { state: 'foreign', missing, message };
  }
  const unfinished = rows.filter((row) => row.finished_at == null);
  if (unfinished.length > 0) {
    const message = `A migration was begun and did not finish: ${namesOf(unfinished)}. Repair the tables, then tell Prisma with \`npx prisma migrate resolve\`.`;
    return { state: 'failed', missing, message };
  }
  const changed = ours.filter((row) => row.checksum !== checksums.get(row.migration_name));
  if (changed.length > 0) {
    const message = `The database was migrated by other files of the same name: ${namesOf(changed)}. Its tables may differ from what this version needs.`;
    return { state: 'foreign', missing, message };
  }
  if (missing.length > 0) {
    const message = `The database is behind by ${missing.length} of ${expected.length} migrations: ${missing.join(', ')}. ${deployHint}`;
    return { state: 'behind', missing, message };
  }
  if (strangers.length > 0) {
    const message = `The database was migrated by a newer version: ${namesOf(strangers)}.`;
    return { state: 'ahead', missing, message };
  }
  return { state: 'current', missing, message: `The database has all ${expected.length} migrations.` };
}
