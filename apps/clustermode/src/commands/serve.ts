import { ClusterError, errorText, type Logger } from '@a2a-cluster/core';
import type { Cluster } from '@a2a-cluster/cluster';
import { deployMigrations } from '@a2a-cluster/db';
import { loadAgent } from '../agent/agent-module.js';
import { createApp } from '../app.js';
import { createAuthentication } from '../auth.js';
import { createJwtVerifier } from '../auth/jwt-verifier.js';
import { composeCluster } from '../compose.js';
import { processEnvironment, type Config } from '../config.js';
import { EXIT_OK } from '../exit-code.js';
import { listen, type HttpServer } from '../http-server.js';
import { captureConsole, createLog } from '../log.js';
import { composeOperator, listenForOperator, type OperatorParts } from '../operator/compose-operator.js';
import { createTelemetryMetrics, type TelemetryMetrics } from '../operator/telemetry-metrics.js';
import { watchStopSignals } from '../stop-signals.js';
import { warnAboutOtherHosts } from './place-warnings.js';
import { warnAbout } from './warnings.js';

/** What `serve` is told. */
export interface ServeOptions {
  readonly config: Config;
  /** Deploy missing migrations first. */
  readonly migrate: boolean;
}

/**
 * Runs one replica until it is told to stop, then drains it; the exit code. While it drains the listener stays open:
 * reads and subscriptions are answered, new turns are refused. A second signal ends the process at once.
 * @throws ClusterError with a message for people when it cannot start; nothing is left half started.
 */
export async function serve({ config, migrate }: ServeOptions): Promise<number> {
  const log = createLog({ level: config.logLevel });
  captureConsole(log);
  process.on('unhandledRejection', (err) =>
    log.error({ err }, 'a promise was rejected and nobody caught it'),
  );
  const signals = watchStopSignals((code) => process.exit(code));
  warnAbout(config, log, processEnvironment());
  const server = await listen({
    host: config.host,
    port: config.port,
    limits: config.limits.http,
    logger: log,
  });
  let operatorServer: HttpServer | undefined;
  try {
    operatorServer = await listenForOperator(config.operator);
    const agent = await loadAgent(config.agentModule);
    if (migrate) await migrateFirst(config, log);
    const telemetry = createTelemetryMetrics();
    const cluster = await composeCluster({
      ...{ config, agent, logger: log, port: server.port },
      telemetry: telemetry.telemetry,
    });
    const operator = await run({ cluster, telemetry, server, operatorServer, config, log });
    await warnAboutOtherHosts({ operator: cluster.operator, databaseUrl: config.databaseUrl, log });
    const { replicaId } = cluster.status();
    if (operatorServer !== undefined)
      log.info(
        { host: config.operator.host, port: operatorServer.port, replicaId },
        'listening for operators',
      );
    log.info({ host: config.host, port: server.port, replicaId }, 'listening');
    log.info({ reason: await signals.stop }, 'stopping');
    await cluster.close();
    operator.close();
  } finally {
    await Promise.all([server.close(), operatorServer?.close()]);
  }
  log.info({}, 'stopped');
  return EXIT_OK;
}

interface Running {
  readonly cluster: Cluster;
  readonly telemetry: TelemetryMetrics;
  readonly server: HttpServer;
  readonly operatorServer: HttpServer | undefined;
  readonly config: Config;
  readonly log: Logger;
}

async function run(running: Running): Promise<OperatorParts> {
  const { cluster, telemetry, server, operatorServer, config, log } = running;
  try {
    const jwt =
      config.jwt === undefined ? undefined : await createJwtVerifier({ config: config.jwt, logger: log });
    const operator = composeOperator({ cluster, config, log, telemetry });
    operatorServer?.serve(operator.app);
    server.serve(
      createApp({
        requestHandler: cluster.requestHandler,
        authentication: createAuthentication({ grants: config.grants, jwt }),
        bodyLimits: config.limits.body,
        cardDefaultVersion: config.cardDefaultVersion,
        health: () => ({ ...cluster.status() }),
        logger: log,
        streaming: cluster.streaming(),
        ...(operatorServer === undefined ? { operator: operator.routes } : {}),
      }),
    );
    await cluster.start();
    return operator;
  } catch (cause) {
    await cluster.close();
    throw cause instanceof ClusterError ? cause : new ClusterError('BUG', errorText(cause), { cause });
  }
}

/** Deploys what is missing, with the environment of this process: the command may need its proxy and its engine. */
export async function migrateFirst(config: Config, log: Logger): Promise<void> {
  const { applied } = await deployMigrations({
    databaseUrl: config.databaseUrl,
    environment: processEnvironment(),
  });
  log.info({ applied }, applied.length === 0 ? 'the schema is up to date' : 'migrations were applied');
}
