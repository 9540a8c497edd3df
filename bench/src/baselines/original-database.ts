import type { BenchContext } from '../benchmark.js';
import { openRaw } from '@a2a-cluster/testing';
import { ORIGINAL_LEASES } from './original.js';
import { migrateSdkStore } from './sdk-store.js';

/** A database with the tables of the original's shape: the SDK's, and that of its leases. */
export async function originalDatabase(context: Pick<BenchContext, 'freshDatabase'>): Promise<string> {
  const databaseUrl = await context.freshDatabase({ migrated: false });
  await migrateSdkStore(databaseUrl);
  const raw = await openRaw(databaseUrl);
  try {
    await raw.run(ORIGINAL_LEASES);
  } finally {
    await raw.close();
  }
  return databaseUrl;
}
