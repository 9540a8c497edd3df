import type { Logger } from '@a2a-cluster/core';
import type { Config } from '../config.js';
import { isLoopback } from '../loopback.js';
import { operatorAccessOf } from '../operator/operator-routes.js';

/** Says at start what an operator may not have meant. */
export function warnAbout(config: Config, log: Logger): void {
  const { host, operator } = config;
  if (config.grants === undefined && config.jwt === undefined && !isLoopback(host))
    log.warn({ host }, 'no authentication is set: whoever reaches this address may do everything');
  warnAboutOperator(config, log);
  if (operator.port !== undefined && operator.token === undefined && !isLoopback(operator.host))
    log.warn(
      { host: operator.host },
      'OPERATOR_TOKEN is not set: whoever reaches OPERATOR_PORT may use its routes',
    );
  if (config.grpcPort !== undefined) log.warn({}, 'GRPC_PORT is set, but this build has no gRPC server');
}

/** The routes of the operator on the listener of the clients. */
function warnAboutOperator({ host, operator, publicUrl }: Config, log: Logger): void {
  if (operator.port !== undefined) return;
  const access = operatorAccessOf(operator, host);
  if (access === 'closed')
    log.warn(
      { host },
      'the routes of the operator are closed: set OPERATOR_TOKEN or OPERATOR_PORT to use them',
    );
  // A proxy on this machine is on the loopback interface like the operator, and hands everybody through.
  const proxied = publicUrl !== undefined && !isLoopback(new URL(publicUrl).hostname);
  if (access === 'open' && proxied)
    log.warn(
      { publicUrl },
      'a proxy may show the routes of the operator to all: set OPERATOR_TOKEN or OPERATOR_PORT',
    );
}
