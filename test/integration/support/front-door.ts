import type { AgentExecutor } from '@a2a-js/sdk/server';
import { createCluster, type Cluster } from '@a2a-cluster/cluster';
import { createSilentLogger } from '@a2a-cluster/core';
import { createDatabase, createMemoryDatabase, type Database } from '@a2a-cluster/db';
import { createTestDatabase, type TestProvider } from '@a2a-cluster/testing';
import { agentCardFor } from '../../../apps/clustermode/src/agent/card.js';
import { createDemoAgent } from '../../../apps/clustermode/src/agent/demo-agent.js';
import { createApp } from '../../../apps/clustermode/src/app.js';
import { createAuthentication, type Authentication } from '../../../apps/clustermode/src/auth.js';
import { parseAuthTokens } from '../../../apps/clustermode/src/auth-tokens.js';
import { DEFAULT_BODY_LIMITS } from '../../../apps/clustermode/src/limits.js';
import { listen } from '../../../apps/clustermode/src/http-server.js';
import { HEARTBEAT_MS, TTL_MS } from './replica-process.js';
import { Rows } from './rows.js';

/** The databases, and the one without a server. */
export type DoorProvider = TestProvider | 'memory';

/** The whole server of the command line in this process, behind a real socket. */
export interface FrontDoor {
  readonly base: string;
  readonly cluster: Cluster;
  /** What the server reads and writes through. */
  readonly database: Database;
  /** The tables, past all of our own code; not in memory. */
  readonly rows: Rows | null;
  close(): Promise<void>;
}

/** What {@link openFrontDoor} is told. */
export interface FrontDoorOptions {
  readonly provider: DoorProvider;
  /** As in the environment; absent: everybody may do everything. */
  readonly authTokens?: string;
  /** In place of what `authTokens` makes. */
  readonly authentication?: Authentication;
  /** Learns of every statement the server asks for, with what it asks. */
  readonly statement?: (args: string) => void;
  /** Default: the demo agent. */
  readonly executor?: AgentExecutor;
  /** In bytes. */
  readonly bodyLimit?: number;
}

/** Starts one on a database of its own. */
export async function openFrontDoor(options: FrontDoorOptions): Promise<FrontDoor> {
  const { provider, authTokens, bodyLimit: bytes = 256 * 1024 } = options;
  const grants = authTokens === undefined ? undefined : parseAuthTokens(authTokens).grants;
  const authentication = options.authentication ?? createAuthentication({ grants });
  const server = await listen({ host: '127.0.0.1', port: 0 });
  const base = `http://127.0.0.1:${server.port}`;
  const logger = createSilentLogger();
  const home = provider === 'memory' ? null : await createTestDatabase({ provider });
  const opened =
    home === null
      ? createMemoryDatabase()
      : await createDatabase({ url: home.url, poolSize: 4, ttlMs: TTL_MS, logger });
  const database = options.statement ? watched(opened, options.statement) : opened;
  const cluster = await createCluster({
    database,
    agentCard: agentCardFor({ publicUrl: base, accepts: { tokens: true, jwt: false } }),
    executor: options.executor ?? createDemoAgent(),
    logger,
    lease: { ttlMs: TTL_MS, heartbeatMs: HEARTBEAT_MS },
    push: { allowPrivate: true },
  });
  const rows = home && (await Rows.open(home.url));
  server.serve(
    createApp({
      requestHandler: cluster.requestHandler,
      authentication,
      bodyLimits: { ...DEFAULT_BODY_LIMITS, bytes },
      health: () => ({ ...cluster.status() }),
      logger,
      streaming: cluster.streaming(),
    }),
  );
  await cluster.start();
  return {
    base,
    cluster,
    database: opened,
    rows,
    close: async () => {
      await cluster.close({ drainTimeoutMs: 1 });
      await server.close();
      await rows?.close();
      await opened.close();
      await home?.drop();
    },
  };
}

/** The same database, which tells of every call of its statements. */
function watched(database: Database, tell: (args: string) => void): Database {
  const watch = <T extends object>(statements: T): T =>
    new Proxy(statements, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...args: readonly unknown[]): unknown => {
          tell(JSON.stringify(args));
          return Reflect.apply(value, target, args);
        };
      },
    });
  const { journal, leases, log, tasks, pushConfigs } = database;
  const groups = { journal, leases, log, tasks, pushConfigs };
  const entries = Object.entries(groups).map(([name, group]) => [name, watch<object>(group)] as const);
  const seen = Object.fromEntries(entries) as unknown as Partial<Database>;
  return new Proxy(database, {
    get(target, name) {
      if (Object.hasOwn(seen, name)) return Reflect.get(seen, name);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
