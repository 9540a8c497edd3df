import { createCluster, type Cluster } from '@a2a-cluster/cluster';
import { ClusterError, isClusterError, type Logger, type Telemetry } from '@a2a-cluster/core';
import { agentCardFor } from './agent/card.js';
import type { LoadedAgent } from './agent/agent-module.js';
import { defaultPublicUrl, type Config } from './config.js';
import { HANDLER } from './limits.js';
import { RETENTION_SETTING_OF } from './read-retention-settings.js';
import type { SettingName } from './settings.js';

/** What a replica is composed of. */
export interface ComposeOptions {
  readonly config: Config;
  readonly agent: LoadedAgent;
  readonly logger: Logger;
  /** The port that is listened on, where the configuration leaves it open. */
  readonly port?: number;
  /** Told of everything that is measured. Default: nobody. */
  readonly telemetry?: Telemetry;
}

/**
 * One replica, composed and checked against its database, not started.
 * @throws ClusterError with a message for people; nothing stays open then.
 */
export async function composeCluster(options: ComposeOptions): Promise<Cluster> {
  try {
    return await compose(options);
  } catch (error) {
    throw isClusterError(error, 'CONFIG_INVALID') ? inOurNames(error) : error;
  }
}

function compose(options: ComposeOptions): Promise<Cluster> {
  const { config, agent, logger, port = config.port } = options;
  return createCluster({
    databaseUrl: config.databaseUrl,
    agentCard: agentCardFor({
      publicUrl: config.publicUrl ?? defaultPublicUrl(config.host, port),
      accepts: { tokens: config.grants !== undefined, jwt: config.jwt !== undefined },
      ...(agent.card === undefined ? {} : { card: agent.card }),
    }),
    executor: agent.executor,
    replicaId: config.replicaId,
    logger,
    hints: config.hints,
    push: given(config.push),
    databaseOptions: given({ poolSize: config.databasePoolSize }),
    lease: given({ ttlMs: config.leaseTtlMs, heartbeatMs: config.leaseHeartbeatMs }),
    sweeper: given({ intervalMs: config.sweepIntervalMs, orphanAfterMs: config.kept.orphanAfterMs }),
    retention: config.kept.retention,
    ...given({
      telemetry: options.telemetry,
      pollIntervalMs: config.pollIntervalMs,
      cancelGraceMs: config.cancelGraceMs,
      drainTimeoutMs: config.drainTimeoutMs,
      ...config.limits.handler,
    }),
  });
}

/** The library's options and the settings they come from. */
const SETTING_OF: Readonly<Record<string, SettingName>> = {
  ttlMs: 'LEASE_TTL_MS',
  heartbeatMs: 'LEASE_HEARTBEAT_MS',
  sweepIntervalMs: 'SWEEP_INTERVAL_MS',
  cancelGraceMs: 'CANCEL_GRACE_MS',
  drainTimeoutMs: 'DRAIN_TIMEOUT_MS',
  pollIntervalMs: 'POLL_INTERVAL_MS',
  ...HANDLER,
  poolSize: 'DATABASE_POOL_SIZE',
  'push.attemptTimeoutMs': 'PUSH_TIMEOUT_MS',
  'push.claimTtlMs': 'PUSH_CLAIM_TTL_MS',
  'push.pollIntervalMs': 'PUSH_POLL_INTERVAL_MS',
  'push.concurrency': 'PUSH_CONCURRENCY',
  'push.concurrencyPerOrigin': 'PUSH_CONCURRENCY_PER_ORIGIN',
  'push.maxAgeMs': 'PUSH_MAX_AGE_MS',
  ...RETENTION_SETTING_OF,
};

/** The library names its options; whoever set variables must read the names of those. */
function inOurNames(error: ClusterError): ClusterError {
  const message = error.message.replace(
    /\b(?:(?:push|retention)\.)?[a-z]+(?:[A-Z]\w*)?\b/g,
    (word) => SETTING_OF[word] ?? word,
  );
  return new ClusterError('CONFIG_INVALID', message, { cause: error, details: error.details });
}

/** Only what is set, so that the library's defaults hold for the rest. */
function given<Values extends object>(
  values: Values,
): { [Name in keyof Values]?: Exclude<Values[Name], undefined> } {
  const set = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set) as { [Name in keyof Values]?: Exclude<Values[Name], undefined> };
}
