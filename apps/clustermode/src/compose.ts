import { createCluster, type Cluster } from '@a2a-cluster/cluster';
import type { Logger } from '@a2a-cluster/core';
import { agentCardFor } from './agent/card.js';
import type { LoadedAgent } from './agent/agent-module.js';
import { defaultPublicUrl, type Config } from './config.js';

/** What a replica is composed of. */
export interface ComposeOptions {
  readonly config: Config;
  readonly agent: LoadedAgent;
  readonly logger: Logger;
  /** The port that is listened on, where the configuration leaves it open. */
  readonly port?: number;
}

/**
 * One replica, composed and checked against its database, not started.
 * @throws ClusterError with a message for people; nothing stays open then.
 */
export function composeCluster(options: ComposeOptions): Promise<Cluster> {
  const { config, agent, logger, port = config.port } = options;
  return createCluster({
    databaseUrl: config.databaseUrl,
    agentCard: agentCardFor({
      publicUrl: config.publicUrl ?? defaultPublicUrl(config.host, port),
      authenticated: config.grants !== undefined,
      ...(agent.card === undefined ? {} : { card: agent.card }),
    }),
    executor: agent.executor,
    replicaId: config.replicaId,
    logger,
    hints: config.hints,
    push: { allowPrivate: config.pushAllowPrivate },
    lease: given({ ttlMs: config.leaseTtlMs, heartbeatMs: config.leaseHeartbeatMs }),
    sweeper: given({ intervalMs: config.sweepIntervalMs }),
    ...given({
      pollIntervalMs: config.pollIntervalMs,
      cancelGraceMs: config.cancelGraceMs,
      drainTimeoutMs: config.drainTimeoutMs,
      maxConcurrentTurns: config.maxConcurrentTurns,
    }),
  });
}

/** Only what is set, so that the library's defaults hold for the rest. */
function given<Values extends object>(
  values: Values,
): { [Name in keyof Values]?: Exclude<Values[Name], undefined> } {
  const set = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set) as { [Name in keyof Values]?: Exclude<Values[Name], undefined> };
}
