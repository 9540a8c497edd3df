import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import express from 'express';
import type { AgentCard } from '@a2a-js/sdk';
import { ServerCallContext, type AgentExecutor } from '@a2a-js/sdk/server';
import { jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import { createCluster, type Cluster, type ClusterOptions } from '@a2a-cluster/cluster';
import { A2AClient } from './a2a-client.js';
import { HEARTBEAT_MS, TTL_MS } from './replica-process.js';

/** A card with everything on that the handlers ask for. */
export const testCard: AgentCard = {
  name: 'test agent',
  description: 'an agent for tests',
  version: '1.0.0',
  documentationUrl: undefined,
  iconUrl: undefined,
  provider: undefined,
  capabilities: { streaming: true, pushNotifications: true, extensions: [], extendedAgentCard: false },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
  securitySchemes: {},
  securityRequirements: [],
  signatures: [],
  supportedInterfaces: [
    { url: 'http://127.0.0.1/a2a/jsonrpc', protocolBinding: 'JSONRPC', tenant: '', protocolVersion: '1.0' },
    { url: 'http://127.0.0.1/a2a/rest', protocolBinding: 'HTTP+JSON', tenant: '', protocolVersion: '1.0' },
  ],
};

/** A replica in this process, behind a real socket and the SDK's unmodified handlers. */
export interface InProcessReplica {
  readonly cluster: Cluster;
  readonly client: A2AClient;
  readonly base: string;
  /** Bytes that open connections hold in this process because their clients do not take them. */
  pendingBytes(): number;
  close(options?: { readonly drainTimeoutMs?: number }): Promise<void>;
}

/** Starts one. Intervals are those of every scenario unless named. */
export async function startInProcess(
  options: Partial<ClusterOptions> & Pick<ClusterOptions, 'executor'>,
): Promise<InProcessReplica> {
  const cluster = await createCluster({
    agentCard: testCard,
    lease: { ttlMs: TTL_MS, heartbeatMs: HEARTBEAT_MS },
    push: { allowPrivate: true },
    databaseOptions: { poolSize: 4 },
    ...options,
  });
  await cluster.start();
  const server = serve(cluster);
  await once(server, 'listening');
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    cluster,
    base,
    client: new A2AClient(base),
    pendingBytes: () => [...sockets].reduce((sum, socket) => sum + socket.writableLength, 0),
    async close(close) {
      await cluster.close(close ?? { drainTimeoutMs: 1 });
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function serve(cluster: Cluster): Server {
  const app = express();
  app.use(cluster.streaming() as unknown as express.RequestHandler);
  const { requestHandler } = cluster;
  const userBuilder = UserBuilder.noAuthentication;
  app.use('/a2a/jsonrpc', jsonRpcHandler({ requestHandler, userBuilder }));
  app.use('/a2a/rest', restHandler({ requestHandler, userBuilder }));
  return app.listen(0, '127.0.0.1');
}

/** The context of a call past the transports. */
export function callContext(user = 'alice', tenant = ''): ServerCallContext {
  return new ServerCallContext({
    requestedVersion: '1.0',
    user: { isAuthenticated: true, userName: user },
    ...(tenant ? { tenant } : {}),
  });
}

/** An executor of two functions. */
export function agent(
  execute: AgentExecutor['execute'],
  cancelTask?: AgentExecutor['cancelTask'],
): AgentExecutor {
  return { execute, cancelTask: cancelTask ?? (() => Promise.resolve()) };
}
