import { ClusterError } from '@a2a-cluster/core';
import type { MigrationComparison } from '../migrations/compare-migrations.js';

/**
 * What a start check makes of the comparison of migrations.
 * @returns a warning where a newer version has deployed (old replicas go on during a rollout), else null.
 * @throws `ClusterError` `SCHEMA_FOREIGN` or `SCHEMA_BEHIND`, with the comparison's own message.
 */
export function judgeSchema(comparison: MigrationComparison): string | null {
  const { state, missing, message } = comparison;
  switch (state) {
    case 'current':
      return null;
    case 'ahead':
      return message;
    case 'foreign':
      throw new ClusterError('SCHEMA_FOREIGN', message, { details: { state, missing } });
    case 'behind':
    case 'failed':
      throw new ClusterError('SCHEMA_BEHIND', message, { details: { state, missing } });
  }
}
