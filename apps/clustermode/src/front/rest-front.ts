import express from 'express';
import type { ErrorRequestHandler, Request, RequestHandler, Response, Router } from 'express';
import { A2A_CONTENT_TYPE } from '@a2a-js/sdk';
import { isStorableName, type Logger } from '@a2a-cluster/core';
import type { BodyLimits } from '../limits.js';
import { depthProblem, hasBody, jsonBody, mediaTypeOf, mismatch, problemOf } from './body.js';
import {
  isLegacyVersion,
  malformed,
  noRoute,
  sendRestProblem,
  wrongContentType,
  wrongMethod,
  type Problem,
} from './problem.js';
import { findRoute, type RestRoute } from './rest-routes.js';
import { noFields, type Shape } from './shapes.js';

const JSON_TYPES = ['application/json', A2A_CONTENT_TYPE];

/**
 * What stands before the SDK's REST handler: it lets through requests to paths and methods that exist, with a body
 * and a query of the right types, and answers everything else itself in REST's error form.
 */
export function restFront(limits: BodyLimits): Router {
  const found = new WeakMap<Request, Shape>();
  const router = express.Router();

  const findPath: RequestHandler = (req, res, next) => {
    const route = findRoute(req.path, isLegacyVersion(req));
    const problem = route === undefined ? noRoute('There is nothing at this path.') : pathProblem(req, route);
    if (problem?.httpStatus === 405) res.setHeader('Allow', Object.keys(route?.methods ?? {}).join(', '));
    if (problem !== undefined) return sendRestProblem(req, res, problem);
    found.set(req, route?.methods[req.method] ?? noFields);
    next();
  };

  const checkBody: RequestHandler = (req, res, next) => {
    const shape = found.get(req);
    const problem = depthProblem(req.body, limits) ?? (shape && mismatch(shape, req.body ?? {}));
    if (problem) return sendRestProblem(req, res, problem);
    next();
  };

  router.use(findPath, onlyJson, jsonBody(JSON_TYPES, limits), checkBody);
  return router;
}

/** What stands behind it, for all that the front and the SDK's handler throw or let fall through. */
export function restFault(logger: Logger): ErrorRequestHandler {
  // eslint-disable-next-line max-params -- express knows an error handler by its four parameters
  return (error, req, res, next) => {
    if (res.headersSent) return next(error);
    const problem = problemOf(error);
    if (problem.httpStatus === 500) logger.error({ err: error }, 'a request failed');
    sendRestProblem(req, res, problem);
  };
}

const onlyJson: RequestHandler = (req, res, next) => {
  if (!hasBody(req) || JSON_TYPES.includes(mediaTypeOf(req))) return next();
  const message = `The Content-Type must be ${JSON_TYPES.join(' or ')}.`;
  sendRestProblem(req, res, wrongContentType(message));
};

function pathProblem(req: Request, route: RestRoute): Problem | undefined {
  if (!Object.hasOwn(route.methods, req.method)) return wrongMethod('This path knows other methods only.');
  const { tenant = '', configId = '' } = route.params;
  if (!isStorableName(tenant)) return malformed('The tenant in the path cannot exist.');
  if (!isStorableName(configId)) return malformed('The id of the configuration in the path cannot exist.');
  return queryProblem(req);
}

const WHOLE_NUMBERS = ['historyLength', 'history_length', 'pageSize'];
const NAMES = ['contextId', 'tenant'];

/** @throws URIError when the query has a broken percent escape. */
function queryProblem(req: Request): Problem | undefined {
  const query: Readonly<Record<string, unknown>> = req.query;
  // express would put a replacement character in place of a broken escape, and make two ids one.
  decodeURIComponent(req.originalUrl.split('?').slice(1).join('?'));
  for (const [name, value] of Object.entries(query)) {
    if (typeof value !== 'string') return malformed(`${name} must not be given twice.`);
    if (WHOLE_NUMBERS.includes(name) && !/^\d{0,9}$/.test(value)) {
      return malformed(`${name} must be a whole number, 0 or more.`);
    }
    if (NAMES.includes(name) && !isStorableName(value)) return malformed(`${name} cannot exist.`);
    if (name === 'includeArtifacts' && !/^(true|false)?$/.test(value)) {
      return malformed('includeArtifacts must be true or false.');
    }
  }
  return undefined;
}

/** Answers a request that no handler of this path took. */
export const restNoRoute = (req: Request, res: Response): void =>
  sendRestProblem(req, res, noRoute('There is nothing at this path.'));
