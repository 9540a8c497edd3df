import express from 'express';
import type { Express, Router } from 'express';
import type { Logger } from '@a2a-cluster/core';
import { auditTrail } from '../audit/audit.js';
import { restFault, restNoRoute } from '../front/rest-front.js';
import { securityHeaders } from '../headers.js';
import { healthRoutes, type Health } from '../health.js';

/** What {@link createOperatorApp} puts together. */
export interface OperatorAppOptions {
  /** From `operatorRoutes`. */
  readonly routes: Router;
  readonly health: () => Health;
  readonly logger: Logger;
}

/** The HTTP server of the operator's own listener: the routes, and the health routes without a token. */
export function createOperatorApp({ routes, health, logger }: OperatorAppOptions): Express {
  const app = express();
  app.use(securityHeaders(), auditTrail(logger));
  app.use(healthRoutes(health));
  app.use(routes);
  app.use(restNoRoute);
  app.use(restFault(logger));
  return app;
}
