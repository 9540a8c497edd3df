import express from 'express';
import type { ErrorRequestHandler, RequestHandler, Router } from 'express';
import { isClusterError, type Clock, type Logger } from '@a2a-cluster/core';
import { hasBody, jsonBody, mediaTypeOf, problemOf } from '../front/body.js';
import {
  noRoute,
  sendRestProblem,
  unavailable,
  wrongContentType,
  wrongMethod,
  type Problem,
} from '../front/problem.js';
import { apiHeaders } from '../headers.js';
import type { ConsoleAccess } from './access.js';
import { actionRoutes } from './actions.js';
import { actDoor, lookDoor } from './door.js';
import type { ConsoleHub } from './hub.js';
import { liveRoute } from './live.js';
import { BadQuestion } from './query.js';
import { readRoutes } from './reads.js';
import type { ConsoleSource } from './source.js';

/** Options of {@link consoleApi}. */
export interface ConsoleApiOptions {
  readonly source: ConsoleSource;
  readonly hub: ConsoleHub;
  readonly access: ConsoleAccess;
  readonly clock: Clock;
  readonly logger: Logger;
}

const JSON_TYPE = 'application/json';
/** An action says little. */
const BODY = { bytes: 16 * 1024, jsonDepth: 10 };

/** The API of the page, as `@a2a-cluster/console/api` describes it. */
export function consoleApi(options: ConsoleApiOptions): Router {
  const router = express.Router();
  router.use(apiHeaders(), lookDoor(options.access));
  const reads = { ...readRoutes(options), '/live': liveRoute(options) };
  for (const [path, handler] of Object.entries(reads)) router.route(path).get(handler).all(onlyMethod('GET, HEAD'));
  for (const [path, handler] of Object.entries(actionRoutes(options)))
    router
      .route(path)
      .post(actDoor, onlyJson, jsonBody([JSON_TYPE], BODY), handler)
      .all(onlyMethod('POST'));
  router.use((req, res) => sendRestProblem(req, res, noRoute('There is nothing at this path.')));
  router.use(fault(options.logger));
  return router;
}

function onlyMethod(allow: string): RequestHandler {
  return (req, res) => {
    res.setHeader('Allow', allow);
    sendRestProblem(req, res, wrongMethod('This path knows other methods only.'));
  };
}

/** A form of another site can say anything but that it is JSON. */
const onlyJson: RequestHandler = (req, res, next) => {
  const type = mediaTypeOf(req);
  if (type === JSON_TYPE || (type === '' && !hasBody(req))) return next();
  sendRestProblem(req, res, wrongContentType(`The Content-Type must be ${JSON_TYPE}.`));
};

function fault(logger: Logger): ErrorRequestHandler {
  // eslint-disable-next-line max-params -- express knows an error handler by its four parameters
  return (error, req, res, next) => {
    if (res.headersSent) return next(error);
    const problem = problemIn(error);
    if (problem.httpStatus === 500) logger.error({ err: error }, 'a request of the console failed');
    sendRestProblem(req, res, problem);
  };
}

function problemIn(error: unknown): Problem {
  if (error instanceof BadQuestion) return error.problem;
  if (isClusterError(error, 'UNKNOWN_OUTCOME'))
    return unavailable('The database went away: whether this was done is not known. Look again, then decide.');
  if (isClusterError(error, 'STORE_FAULT') || isClusterError(error, 'DATABASE_UNREACHABLE'))
    return unavailable('The database does not answer. Try again.');
  if (isClusterError(error, 'CLOSED')) return unavailable('This replica is closing. Another one may answer.');
  return problemOf(error);
}
