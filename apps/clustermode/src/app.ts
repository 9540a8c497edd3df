import express from 'express';
import type { Express, Request, RequestHandler, Router } from 'express';
import { A2A_VERSION_HEADER, AGENT_CARD_PATH, AgentCard } from '@a2a-js/sdk';
import type { A2ARequestHandler } from '@a2a-js/sdk/server';
import {
  agentCardHandler,
  jsonRpcHandler,
  restHandler,
  type JsonRpcHandlerOptions,
} from '@a2a-js/sdk/server/express';
import type { Logger } from '@a2a-cluster/core';
import { JSON_RPC_PATH, REST_PATH } from './agent/card.js';
import { aroundCalls } from './around-calls.js';
import { auditTrail } from './audit/audit.js';
import { noteCall } from './audit/note-call.js';
import type { Authentication } from './auth.js';
import { createFaultShield } from './fault-shield.js';
import { jsonRpcFault, jsonRpcFront } from './front/json-rpc-front.js';
import { isLegacyVersion } from './front/problem.js';
import { restFault, restFront, restNoRoute } from './front/rest-front.js';
import { createRetryAfter } from './front/retry-after.js';
import { apiHeaders, securityHeaders } from './headers.js';
import { healthRoutes, type Health } from './health.js';
import type { BodyLimits } from './limits.js';
import { admitToTenant } from './tenants.js';
import { traceRequests } from './trace-requests.js';

/** What {@link createApp} puts together. */
export interface AppOptions {
  readonly requestHandler: A2ARequestHandler;
  readonly authentication: Authentication;
  readonly bodyLimits: BodyLimits;
  readonly health: () => Health;
  readonly logger: Logger;
  /** Runs before both transports; a cluster's own frees a subscriber when its client goes away. */
  readonly streaming?: RequestHandler;
  /** Routes that clients have no part in, with their own door, from `operatorRoutes`. */
  readonly operator?: Router;
  /** Makes the context of a call; default: the SDK's. */
  readonly contextBuilder?: JsonRpcHandlerOptions['contextBuilder'];
  /** The version of the card for clients that name none; default 1.0. */
  readonly cardDefaultVersion?: '1.0' | '0.3';
  /** Seconds for which clients may keep the card; default 3600. */
  readonly cardMaxAge?: number;
}

/**
 * The HTTP server of a replica: the SDK's unmodified handlers for the card, JSON-RPC and REST, each for A2A 1.0 and
 * 0.3, with the checks before them that they lack. Every error is in A2A's form. Opens nothing and starts nothing.
 */
export function createApp(options: AppOptions): Express {
  const { authentication, logger, bodyLimits } = options;
  const retryAfter = createRetryAfter();
  const shield = createFaultShield(logger);
  const requestHandler = aroundCalls(options.requestHandler, {
    admit(params, context) {
      noteCall(params, context);
      return admitToTenant(params, context);
    },
    failed(error, context) {
      retryAfter.note(error, context);
      return shield.ofCall(error, context);
    },
    card: shield.card,
  });
  const transport = {
    requestHandler,
    userBuilder: shield.userBuilder(authentication.userBuilder),
    contextBuilder: shield.contextBuilder(options.contextBuilder),
    legacyCompat: { enabled: true },
  };
  const streaming = options.streaming ?? passOn;

  const app = express();
  app.use(securityHeaders(), auditTrail(logger));
  app.use(healthRoutes(options.health));
  app.use(`/${AGENT_CARD_PATH}`, card({ ...options, requestHandler }));
  if (options.operator !== undefined) app.use(options.operator);
  app.use(apiHeaders(), traceRequests(), authentication.guard);
  app.use(JSON_RPC_PATH, shield.answers, retryAfter.jsonRpc, jsonRpcFront(bodyLimits), streaming);
  app.use(JSON_RPC_PATH, jsonRpcHandler(transport), jsonRpcFault(logger));
  app.use(REST_PATH, shield.answers, retryAfter.rest, restFront(bodyLimits), streaming);
  app.use(REST_PATH, restHandler(transport));
  app.use(restNoRoute);
  app.use(restFault(logger));
  return app;
}

/**
 * The SDK's card handler. It prints the card's inner form as it is, in which security schemes are not A2A's JSON, so
 * clients of 1.0 get the encoded card; for 0.3 the handler translates the inner form itself. Clients of 0.3 and
 * tools that know 1.0 alike ask for the card without naming a version: the operator says which they get.
 */
function card(options: AppOptions): RequestHandler {
  const common = {
    ...(options.cardMaxAge === undefined ? {} : { cache: { maxAge: options.cardMaxAge } }),
  };
  const inner = (): Promise<AgentCard> => options.requestHandler.getAgentCard();
  const encoded = async (): Promise<AgentCard> => AgentCard.toJSON(await inner()) as AgentCard;
  const legacy = agentCardHandler({ ...common, legacyCompat: { enabled: true }, agentCardProvider: inner });
  const current = agentCardHandler({ ...common, agentCardProvider: encoded });
  const isLegacy = (req: Request): boolean =>
    req.header(A2A_VERSION_HEADER) ? isLegacyVersion(req) : options.cardDefaultVersion === '0.3';
  return (req: Request, res, next) => (isLegacy(req) ? legacy : current)(req, res, next);
}

const passOn: RequestHandler = (_req, _res, next) => next();
