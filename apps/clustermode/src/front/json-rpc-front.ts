import express from 'express';
import type { ErrorRequestHandler, Request, RequestHandler, Response, Router } from 'express';
import type { Logger } from '@a2a-cluster/core';
import type { BodyLimits } from '../limits.js';
import { depthProblem, hasBody, jsonBody, mediaTypeOf, mismatch, problemOf } from './body.js';
import { legacyRpcShapes } from './legacy-shapes.js';
import {
  invalidRequest,
  isLegacyVersion,
  noRoute,
  sendRpcProblem,
  wrongContentType,
  wrongMethod,
} from './problem.js';
import { rpcShapes } from './shapes.js';

const JSON_TYPE = 'application/json';

/**
 * What stands before the SDK's JSON-RPC handler: it lets through what is a JSON-RPC request of the right types and
 * answers everything else itself, always with a JSON-RPC error object. Unknown methods are left to the SDK.
 */
export function jsonRpcFront(limits: BodyLimits): Router {
  const router = express.Router();
  router.use(onlyPost, onlyJson, jsonBody([JSON_TYPE], limits), checkRequest(limits), onBadBody);
  return router;
}

/** What stands behind it: a fault inside ends in a JSON-RPC error too. */
export function jsonRpcFault(logger: Logger): ErrorRequestHandler {
  // eslint-disable-next-line max-params -- express knows an error handler by its four parameters
  return (error, req, res, next) => {
    if (res.headersSent) return next(error);
    const problem = problemOf(error);
    if (problem.httpStatus === 500) logger.error({ err: error }, 'a JSON-RPC request failed');
    sendRpcProblem(res, { problem, id: idOf(req.body), httpStatus: problem.httpStatus });
  };
}

const onlyPost: RequestHandler = (req, res, next) => {
  if (req.path !== '/') {
    const problem = noRoute('There is nothing at this path.');
    return sendRpcProblem(res, { problem, httpStatus: problem.httpStatus });
  }
  if (req.method === 'POST') return next();
  res.setHeader('Allow', 'POST');
  const problem = wrongMethod('JSON-RPC requests are sent with POST.');
  sendRpcProblem(res, { problem, httpStatus: problem.httpStatus });
};

const onlyJson: RequestHandler = (req, res, next) => {
  if (!hasBody(req)) return sendRpcProblem(res, { problem: invalidRequest('The request has no body.') });
  if (mediaTypeOf(req) === JSON_TYPE) return next();
  sendRpcProblem(res, { problem: wrongContentType(`The Content-Type must be ${JSON_TYPE}.`) });
};

// eslint-disable-next-line max-params -- express knows an error handler by its four parameters
const onBadBody: ErrorRequestHandler = (error, _req, res, next) => {
  const problem = problemOf(error);
  if (problem.httpStatus === 500) return next(error);
  const tooLarge = problem.httpStatus === 413;
  sendRpcProblem(res, { problem, ...(tooLarge ? { httpStatus: problem.httpStatus } : {}) });
};

const checkRequest =
  (limits: BodyLimits): RequestHandler =>
  (req, res, next) => {
    const body: unknown = req.body;
    const tooDeep = depthProblem(body, limits);
    if (tooDeep) return sendRpcProblem(res, { problem: tooDeep, id: idOf(body) });
    const wrong = envelopeFault(body);
    if (wrong !== undefined) return refuse(req, res, wrong);
    const { method, params } = body as { method: string; params?: unknown };
    const shape = (isLegacyVersion(req) ? legacyRpcShapes : rpcShapes).get(method);
    const problem = shape && mismatch(shape, params ?? {});
    if (problem) return sendRpcProblem(res, { problem, id: idOf(body) });
    next();
  };

function refuse(req: Request, res: Response, message: string): void {
  sendRpcProblem(res, { problem: invalidRequest(message), id: idOf(req.body) });
}

/** What keeps a body from being one JSON-RPC 2.0 request. */
function envelopeFault(body: unknown): string | undefined {
  if (Array.isArray(body)) return 'Batches are not part of A2A.';
  if (typeof body !== 'object' || body === null) return 'A JSON-RPC request is an object.';
  const { jsonrpc, method } = body as Readonly<Record<string, unknown>>;
  if (jsonrpc !== '2.0') return 'jsonrpc must be "2.0".';
  if ('id' in body && !isId(body.id)) return 'id must be a string, an integer or null.';
  if (typeof method !== 'string' || method === '') return 'method must be a string.';
  return undefined;
}

function idOf(body: unknown): string | number | null {
  if (typeof body !== 'object' || body === null || !('id' in body)) return null;
  return isId(body.id) ? body.id : null;
}

function isId(id: unknown): id is string | number | null {
  return id === null || typeof id === 'string' || Number.isInteger(id);
}
