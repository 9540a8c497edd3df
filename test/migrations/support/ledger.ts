import { openRaw } from '@a2a-cluster/testing';
import type { AppliedMigration } from '../../../packages/db/src/migrations/compare-migrations.js';

/** The rows of `_prisma_migrations`, by name. */
export async function ledgerRows(url: string): Promise<AppliedMigration[]> {
  const raw = await openRaw(url);
  try {
    const rows = await raw.query(
      'SELECT migration_name, checksum, finished_at, rolled_back_at FROM _prisma_migrations ORDER BY migration_name',
    );
    return rows as unknown as AppliedMigration[];
  } finally {
    await raw.close();
  }
}
