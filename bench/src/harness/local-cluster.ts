import { UnauthenticatedUser, ServerCallContext, type AgentExecutor } from '@a2a-js/sdk/server';
import { SendMessageRequest } from '@a2a-js/sdk';
import { randomUUID } from 'node:crypto';
import { createCluster, type Cluster } from '@a2a-cluster/cluster';
import type { BenchContext } from '../benchmark.js';
import { agentCard } from '../servers/handlers.js';

/** What {@link openCluster} is told. */
export interface LocalCluster {
  readonly databaseUrl: string;
  readonly executor: AgentExecutor;
  readonly hints?: 'auto' | 'poll';
}

/** A replica in this process, without HTTP. The benchmark's clean-up closes it. */
export async function openCluster(context: BenchContext, options: LocalCluster): Promise<Cluster> {
  const { databaseUrl, executor, hints = 'auto' } = options;
  const cluster = await createCluster({
    databaseUrl,
    agentCard,
    executor,
    hints,
    maxConcurrentTurns: 10_000,
  });
  context.cleanUp(() => cluster.close({ drainTimeoutMs: 0 }));
  await cluster.start();
  return cluster;
}

/** The context of a call by nobody in particular. */
export function callContext(): ServerCallContext {
  return new ServerCallContext({ user: new UnauthenticatedUser(), requestedVersion: '1.0' });
}

/** A message with a text. */
export function messageOf(text: string, taskId = ''): SendMessageRequest {
  const parts = [{ text }];
  return SendMessageRequest.fromJSON({
    message: { messageId: randomUUID(), taskId, role: 'ROLE_USER', parts },
  });
}
