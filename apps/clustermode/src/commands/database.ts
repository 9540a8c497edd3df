import { createSilentLogger } from '@a2a-cluster/core';
import type { ClusterOperator } from '@a2a-cluster/cluster';
import { createDemoAgent } from '../agent/demo-agent.js';
import { composeCluster } from '../compose.js';
import type { Config } from '../config.js';

/** What the commands are told that ask the database. */
export interface DatabaseCommandOptions {
  readonly config: Config;
  readonly json: boolean;
  /** Most rows. */
  readonly limit: number;
}

/** The same for commands that can look again and again. */
export interface ListCommandOptions extends DatabaseCommandOptions {
  /** Milliseconds between two looks; undefined: look once. */
  readonly everyMs?: number | undefined;
}

/** Opens the database as a replica would, starts nothing, and closes it again. */
export async function withOperator(
  config: Config,
  work: (operator: ClusterOperator) => Promise<number>,
): Promise<number> {
  const agent = { executor: createDemoAgent() };
  const cluster = await composeCluster({ config, agent, logger: createSilentLogger() });
  try {
    return await work(cluster.operator);
  } finally {
    await cluster.close();
  }
}
