import type { Express, Router } from 'express';
import type { Cluster } from '@a2a-cluster/cluster';
import { createSystemClock, type Logger } from '@a2a-cluster/core';
import type { Config } from '../config.js';
import { composeConsole } from '../console/compose-console.js';
import type { Health } from '../health.js';
import { listen, type HttpServer } from '../http-server.js';
import { cachedReading } from './cached-reading.js';
import { clusterReadings, type ClusterViews } from './cluster-readings.js';
import { createMetrics, type Metrics, type Reading } from './metrics.js';
import { createOperatorApp } from './operator-app.js';
import type { OperatorConfig } from './operator-config.js';
import { operatorAccessOf, operatorRoutes } from './operator-routes.js';
import { pushReadings } from './push-readings.js';
import { replicaReadings } from './replica-readings.js';
import type { TelemetryMetrics } from './telemetry-metrics.js';

/** What {@link composeOperator} needs. */
export interface ComposeOperatorOptions {
  readonly cluster: Cluster;
  readonly config: Config;
  readonly log: Logger;
  /** What the cluster was made with. */
  readonly telemetry: TelemetryMetrics;
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
export function composeOperator(options: ComposeOperatorOptions): OperatorParts {
  const { cluster, config, log, telemetry } = options;
  const metrics = createMetrics({
    collect: collectorOf(cluster, log),
    logger: log,
    registries: [telemetry.registry],
  });
  const console = composeConsole({ cluster, config, log });
  const routes = operatorRoutes({
    access: operatorAccessOf(config.operator, config.host),
    routes: { '/metrics': metrics.handler },
    withOwnDoor: { '/console': console.routes },
  });
  const health = (): Health => ({ ...cluster.status() });
  return { metrics, routes, app: createOperatorApp({ routes, health, logger: log }), close: console.close };
}

/** What the database says of all replicas is read at most so often by each of them, however often it is scraped. */
const DATABASE_MAX_AGE_MS = 5_000;

function collectorOf(cluster: Cluster, log: Logger): () => Promise<readonly Reading[]> {
  const kept = { clock: createSystemClock(), maxAgeMs: DATABASE_MAX_AGE_MS };
  const push = { counts: cachedReading({ ...kept, read: () => cluster.operator.push.counts() }) };
  const views: ClusterViews = {
    tasks: { counts: cachedReading({ ...kept, read: () => cluster.operator.tasks.counts() }) },
    replicas: cluster.operator.replicas,
  };
  return async () => [
    ...replicaReadings(cluster.status()),
    ...(await pushReadings({ status: () => cluster.status(), operator: { push } }, log)),
    ...(await clusterReadings(views, log)),
  ];
}

/**
 * Listens on `OPERATOR_PORT`, where it is set.
 * @throws StartFault when the address cannot be listened on.
 */
export async function listenForOperator({ host, port }: OperatorConfig): Promise<HttpServer | undefined> {
  if (port === undefined) return undefined;
  return listen({ host, port, settings: 'OPERATOR_HOST, OPERATOR_PORT' });
}
