import type { Express, Router } from 'express';
import type { Cluster } from '@a2a-cluster/cluster';
import type { Logger } from '@a2a-cluster/core';
import type { Config } from '../config.js';
import { composeConsole } from '../console/compose-console.js';
import { listen, type HttpServer } from '../http-server.js';
import { createMetrics, type Metrics } from './metrics.js';
import { createOperatorApp } from './operator-app.js';
import type { OperatorConfig } from './operator-config.js';
import { operatorAccessOf, operatorRoutes } from './operator-routes.js';
import { pushReadings } from './push-readings.js';
import { replicaReadings } from './replica-readings.js';

/** What {@link composeOperator} needs. */
export interface ComposeOperatorOptions {
  readonly cluster: Cluster;
  readonly config: Config;
  readonly log: Logger;
}

/** The operator's side of a replica. */
export interface OperatorParts {
  readonly metrics: Metrics;
  /** For the listener of the clients, where there is no other. */
  readonly routes: Router;
  /** For a listener of its own. */
  readonly app: Express;
  /** Ends what is open for pages of the console. */
  close(): void;
}

/** Puts the routes of the operator together. Another route is one line here. */
export function composeOperator({ cluster, config, log }: ComposeOperatorOptions): OperatorParts {
  const metrics = createMetrics({
    collect: async () => [...replicaReadings(cluster.status()), ...(await pushReadings(cluster, log))],
    logger: log,
  });
  const console = composeConsole({ cluster, config, log });
  const routes = operatorRoutes({
    access: operatorAccessOf(config.operator, config.host),
    routes: { '/metrics': metrics.handler },
    withOwnDoor: { '/console': console.routes },
  });
  const health = (): { ready: boolean; reasons: readonly string[] } => ({ ...cluster.status() });
  return { metrics, routes, app: createOperatorApp({ routes, health, logger: log }), close: console.close };
}

/**
 * Listens on `OPERATOR_PORT`, where it is set.
 * @throws StartFault when the address cannot be listened on.
 */
export async function listenForOperator({ host, port }: OperatorConfig): Promise<HttpServer | undefined> {
  if (port === undefined) return undefined;
  return listen({ host, port, settings: 'OPERATOR_HOST, OPERATOR_PORT' });
}
