import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import {
  ClusterError,
  createSilentLogger,
  createSystemClock,
  isStorableKey,
  withFields,
  type Logger,
} from '@a2a-cluster/core';
import { createDatabase, type Database } from '@a2a-cluster/db';
import { resolveLeaseOptions, type ResolvedLeaseOptions } from '@a2a-cluster/lease-store';
import { resolveHandlerOptions } from '@a2a-cluster/request-handler';
import { checkOrphanAge } from '@a2a-cluster/sweeper';
import { checkClusterParts } from './check-parts.js';
import { clockWarning } from './clock-facts.js';
import type { Cluster } from './cluster.js';
import { checkRetention } from './create-retention.js';
import type { ClusterOptions } from './options.js';
import { Replica } from './replica.js';

/** What of the options is the handler's, apart from the grace of a cancel, which the lease decides on. */
const HANDLER_OPTIONS = [
  ...(['maxConcurrentTurns', 'maxTurnsPerOwner', 'maxStreams', 'maxStreamsPerOwner'] as const),
  ...([
    'maxQueuedBytes',
    'maxEventBytes',
    'maxEventsPerTurn',
    'maxMessageParts',
    'maxMetadataDepth',
  ] as const),
  ...(['maxTaskMessages', 'drainTimeoutMs', 'interruptedTurnTimeoutMs', 'slowReaderTimeoutMs'] as const),
  ...(['failRunningTurnsOnClose', 'incompleteTurn'] as const),
];

/**
 * Composes one replica. Opens the database and checks that it can be used; nothing runs before `start`.
 *
 * @throws ClusterError `CONFIG_INVALID` (options that do not add up, a missing part), `DATABASE_UNREACHABLE`,
 * `DATABASE_UNSUITABLE`, `SCHEMA_BEHIND` or `SCHEMA_FOREIGN`; nothing stays open then.
 */
export async function createCluster(options: ClusterOptions): Promise<Cluster> {
  checkClusterParts(options);
  checkRetention(options);
  const lease = resolveLeaseOptions({
    ...options.lease,
    ...(options.sweeper?.intervalMs === undefined ? {} : { sweepIntervalMs: options.sweeper.intervalMs }),
    ...(options.cancelGraceMs === undefined ? {} : { cancelGraceMs: options.cancelGraceMs }),
  });
  checkOrphanAge({ orphanAfterMs: options.sweeper?.orphanAfterMs, ttlMs: lease.ttlMs });
  const handler = resolveHandlerOptions(handlerOptions(options, lease), {
    heartbeatMs: lease.heartbeatMs,
    trustMs: lease.ttlMs - lease.marginMs,
  });
  const holder = holderOf(options);
  const logger = withFields(options.logger ?? createSilentLogger(), { replicaId: holder });
  const database = options.database ?? (await openDatabase(options, { ttlMs: lease.ttlMs, logger }));
  try {
    const { warnings } = await database.check({ maxEventBytes: handler.maxEventBytes });
    for (const warning of warnings) logger.warn({}, warning);
    await warmUp(database);
    const clock = options.clock ?? createSystemClock();
    const skew = await clockWarning(database, clock);
    if (skew !== null) logger.warn({}, skew);
    return new Replica({ options, lease, handler, logger, database, clock, holder });
  } catch (error) {
    if (options.database === undefined) await database.close();
    throw error;
  }
}

/** The name of this boot: another one at every start, so that no replica takes an earlier one's leases for its own. */
function holderOf(options: ClusterOptions): string {
  const holder = `${options.replicaId ?? hostname()}-${randomUUID().slice(0, 8)}`;
  if (isStorableKey(holder)) return holder;
  throw new ClusterError('CONFIG_INVALID', 'replicaId is too long or cannot be stored');
}

/**
 * The query compiler behind lists and push configs compiles itself at its first query and blocks the process
 * meanwhile, on a busy machine for longer than a heartbeat: better before the first turn than during it.
 */
async function warmUp(database: Database): Promise<void> {
  const nobody = { tenant: '', owner: '' };
  await database.pushConfigs.load({ taskId: 'warm-up', scope: nobody });
  await database.tasks.list({ scope: nobody, limit: 1 });
}

function handlerOptions(
  options: ClusterOptions,
  lease: ResolvedLeaseOptions,
): Parameters<typeof resolveHandlerOptions>[0] {
  const given = HANDLER_OPTIONS.map((name) => [name, options[name]] as const);
  return {
    ...Object.fromEntries(given.filter(([, value]) => value !== undefined)),
    cancelGraceMs: lease.cancelGraceMs,
  };
}

async function openDatabase(
  options: ClusterOptions,
  context: { readonly ttlMs: number; readonly logger: Logger },
): Promise<Database> {
  return createDatabase({ ...options.databaseOptions, ...context, url: options.databaseUrl ?? '' });
}
