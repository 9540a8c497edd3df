import type { IncomingMessage } from 'node:http';
import { bearerOf, tokenLookup } from '../auth/bearer.js';
import { isLoopback } from '../loopback.js';
import type { OperatorConfig } from '../operator/operator-config.js';
import { operatorAccessOf } from '../operator/operator-routes.js';

/** By what somebody came in. */
export type Key = 'none' | 'operator' | 'console';

/** Somebody who may look, and whether they may act too. */
export interface Visitor {
  readonly key: Key;
  readonly mayAct: boolean;
}

/** Who may use the console. */
export interface ConsoleAccess {
  /** The console is as if it did not exist. */
  readonly closed: boolean;
  /**
   * Only this machine reaches it, and no token is wanted. A browser on this machine then is who could be misled: a name
   * in `Host` that is not this machine's is that of a page which had its name point here.
   */
  readonly loopbackOnly: boolean;
  /** Undefined: a token is wanted and none that is known came. */
  visitorOf(req: IncomingMessage): Visitor | undefined;
}

/**
 * Who may use the console by what is configured. With a token set, it is wanted to look: either of both; to act the
 * `CONSOLE_TOKEN` where it is set, else the `OPERATOR_TOKEN`. Without any: as for all routes of the operator.
 */
export function consoleAccessOf(operator: OperatorConfig, mainHost: string): ConsoleAccess {
  const { token, consoleToken } = operator;
  if (token === undefined && consoleToken === undefined) return withoutToken(operator, mainHost);
  const known = tokenLookup<Visitor>([
    ...(token === undefined
      ? []
      : [[token, { key: 'operator', mayAct: consoleToken === undefined }] as const]),
    ...(consoleToken === undefined ? [] : [[consoleToken, { key: 'console', mayAct: true }] as const]),
  ]);
  return { closed: false, loopbackOnly: false, visitorOf: (req) => known(bearerOf(req)) };
}

function withoutToken(operator: OperatorConfig, mainHost: string): ConsoleAccess {
  const host = operator.port === undefined ? mainHost : operator.host;
  return {
    closed: operatorAccessOf(operator, mainHost) === 'closed',
    loopbackOnly: isLoopback(host),
    visitorOf: () => ({ key: 'none', mayAct: true }),
  };
}
