import type { Clock, Logger, Telemetry } from '@a2a-cluster/core';
import type { Database } from '@a2a-cluster/db';
import {
  createRetention,
  resolveRetentionOptions,
  type ResolvedRetentionOptions,
  type Retention,
} from '@a2a-cluster/retention';
import type { TaskReader } from '@a2a-cluster/task-store';
import type { ClusterOptions } from './options.js';

/** What {@link createClusterRetention} needs. */
export interface ClusterRetentionParts {
  readonly options: ClusterOptions;
  readonly database: Database;
  readonly reader: TaskReader;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
  /** Whether this replica is the one that prunes. Default: always, which does no harm. */
  readonly mayRun?: () => boolean;
}

/** The retention of one replica; null where everything is kept. */
export function createClusterRetention(parts: ClusterRetentionParts): Retention | null {
  const { options: clusterOptions, ...rest } = parts;
  const options = checkRetention(clusterOptions);
  return options && createRetention({ ...rest, options });
}

/**
 * The times that hold; null where everything is kept.
 * @throws ClusterError `CONFIG_INVALID` with both numbers where they do not add up.
 */
export function checkRetention(options: ClusterOptions): ResolvedRetentionOptions | null {
  const { retention = {}, database, databaseUrl = '' } = options;
  if (retention === false) return null;
  const embedded = database === undefined ? databaseUrl.startsWith('file:') : database.provider === 'sqlite';
  const resolved = resolveRetentionOptions(retention, { embedded });
  return resolved.eventsMs === null ? null : resolved;
}
