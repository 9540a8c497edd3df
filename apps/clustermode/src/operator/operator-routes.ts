import express from 'express';
import type { RequestHandler, Router } from 'express';
import { bearerOf, tokenLookup } from '../auth/bearer.js';
import { noRoute, sendRestProblem, unauthenticated } from '../front/problem.js';
import { isLoopback } from '../loopback.js';
import type { OperatorConfig } from './operator-config.js';

/** Who may use the routes of the operator. `closed`: they are as if they did not exist. */
export type OperatorAccess = 'open' | 'closed' | { readonly token: string };

/** Options of {@link operatorRoutes}. */
export interface OperatorRoutesOptions {
  readonly access: OperatorAccess;
  /** What is there, by path, such as `/metrics`; each handler has all that is below its path. */
  readonly routes: Readonly<Record<string, RequestHandler>>;
  /** The same, for what has a door of its own. */
  readonly withOwnDoor?: Readonly<Record<string, RequestHandler>>;
}

/**
 * The routes of the operator behind one door. It answers its own paths only and lets every other request through, so
 * it can stand before the routes of clients.
 */
export function operatorRoutes(options: OperatorRoutesOptions): Router {
  const { access, routes, withOwnDoor = {} } = options;
  const router = express.Router();
  const door = doorOf(access);
  for (const [path, handler] of Object.entries(routes)) router.use(path, door, handler, nothingHere);
  for (const [path, handler] of Object.entries(withOwnDoor)) router.use(path, handler, nothingHere);
  return router;
}

/**
 * Who may use them by what is configured. On a listener of their own, whoever reaches it, unless there is a token.
 * On the listener of the clients, nobody without a token, unless only this machine reaches it.
 */
export function operatorAccessOf(operator: OperatorConfig, mainHost: string): OperatorAccess {
  if (operator.token !== undefined) return { token: operator.token };
  return operator.port !== undefined || isLoopback(mainHost) ? 'open' : 'closed';
}

function doorOf(access: OperatorAccess): RequestHandler {
  if (access === 'closed') return nothingHere;
  const knows = access === 'open' ? () => true : tokenLookup([[access.token, true]]);
  return (req, res, next) => {
    res.setHeader('Cache-Control', 'no-store');
    if (knows(bearerOf(req))) return next();
    res.setHeader('WWW-Authenticate', 'Bearer');
    sendRestProblem(req, res, unauthenticated('The Bearer token of the operator is needed.'));
  };
}

const nothingHere: RequestHandler = (req, res) =>
  sendRestProblem(req, res, noRoute('There is nothing at this path.'));
