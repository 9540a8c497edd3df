import type { RequestHandler } from 'express';
import type { AgentCard } from '@a2a-js/sdk';
import { DefaultRequestHandler, InMemoryTaskStore, type AgentExecutor } from '@a2a-js/sdk/server';
import { createCluster } from '@a2a-cluster/cluster';
import { createMemoryDatabase } from '@a2a-cluster/db';
import { openOriginal } from '../baselines/original.js';
import { openSdkStore } from '../baselines/sdk-store.js';
import type { OpenedHandler } from './opened-handler.js';
import type { ServerSettings } from './protocol.js';

/** Connections for requests, the same for every kind. */
const POOL_SIZE = 10;

/** Opens the handler that the settings name. */
export async function openHandler(settings: ServerSettings, executor: AgentExecutor): Promise<OpenedHandler> {
  const { kind, databaseUrl, poolSize = POOL_SIZE } = settings;
  switch (kind) {
    case 'cluster':
    case 'cluster-memory':
      return openCluster(settings, executor);
    case 'sdk': {
      const store = openSdkStore({ databaseUrl, poolSize });
      const handler = new DefaultRequestHandler(agentCard, store.tasks, executor);
      return { handler, middleware: [], close: () => store.close() };
    }
    case 'sdk-memory':
      return {
        handler: new DefaultRequestHandler(agentCard, new InMemoryTaskStore(), executor),
        middleware: [],
        close: async () => {},
      };
    case 'original':
      return openOriginal({ agentCard, executor, databaseUrl, poolSize });
  }
}

async function openCluster(settings: ServerSettings, executor: AgentExecutor): Promise<OpenedHandler> {
  const { kind, databaseUrl, poolSize = POOL_SIZE, hints, pollIntervalMs, push } = settings;
  const cluster = await createCluster({
    ...(kind === 'cluster-memory' ? { database: createMemoryDatabase() } : { databaseUrl }),
    databaseOptions: { poolSize },
    ...(push === true ? { agentCard: pushCard, push: { allowPrivate: true } } : { agentCard }),
    executor,
    ...(hints === undefined ? {} : { hints }),
    ...(pollIntervalMs === undefined ? {} : { pollIntervalMs }),
  });
  await cluster.start();
  return {
    handler: cluster.requestHandler,
    middleware: [cluster.streaming() as unknown as RequestHandler],
    close: () => cluster.close({ drainTimeoutMs: 0 }),
  };
}

/** The card of most servers: streaming, no push. */
export const agentCard: AgentCard = {
  name: 'bench',
  description: 'Runs scripts',
  supportedInterfaces: [
    { url: 'http://127.0.0.1/a2a/jsonrpc', protocolBinding: 'JSONRPC', tenant: '', protocolVersion: '1.0' },
  ],
  provider: undefined,
  version: '1',
  documentationUrl: '',
  capabilities: { streaming: true, pushNotifications: false, extensions: [], extendedAgentCard: false },
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
  signatures: [],
  iconUrl: '',
};

/** The card of servers that call webhooks. */
export const pushCard: AgentCard = {
  ...agentCard,
  capabilities: { streaming: true, pushNotifications: true, extensions: [], extendedAgentCard: false },
};
