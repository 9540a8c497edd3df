import express, { type Express, type RequestHandler, type Router } from 'express';
import { DefaultRequestHandler, InMemoryTaskStore, InMemoryPushNotificationStore } from '@a2a-js/sdk/server';
import type { A2ARequestHandler } from '@a2a-js/sdk/server';
import { createSilentLogger, type Logger } from '@a2a-cluster/core';
import { agentCardFor } from '../src/agent/card.js';
import { createDemoAgent } from '../src/agent/demo-agent.js';
import { createApp, type AppOptions } from '../src/app.js';
import { createAuthentication, type Authentication } from '../src/auth.js';
import type { JwtVerifier } from '../src/auth/jwt-verifier.js';
import { parseAuthTokens } from '../src/auth-tokens.js';

/** A server of this app over the SDK's own handler, in memory. */
export interface Fixture {
  readonly app: Express;
  /** The same, without the end of every connection after its first answer. */
  readonly bare: Express;
  readonly handler: A2ARequestHandler;
  /** How many tasks are stored, whoever they belong to. */
  storedTasks(): number;
}

/** Options of {@link createFixture}. */
export interface FixtureOptions {
  readonly authTokens?: string;
  readonly bodyLimit?: number;
  readonly cardDefaultVersion?: '1.0' | '0.3';
  readonly jwt?: JwtVerifier;
  readonly operator?: Router;
  readonly contextBuilder?: AppOptions['contextBuilder'];
  readonly streaming?: RequestHandler;
  readonly userBuilder?: Authentication['userBuilder'];
  readonly logger?: Logger;
  /** Stands in for methods of the handler. */
  readonly instead?: Partial<A2ARequestHandler>;
}

export function createFixture(options: FixtureOptions = {}): Fixture {
  const { authTokens, bodyLimit: bytes = 64 * 1024, cardDefaultVersion = '1.0', instead = {} } = options;
  const { jwt, operator, contextBuilder, streaming, userBuilder, logger = createSilentLogger() } = options;
  const accepts = { tokens: authTokens !== undefined, jwt: jwt !== undefined };
  const card = agentCardFor({ publicUrl: 'http://localhost:41241', accepts });
  const store = new CountingStore();
  const inner = new DefaultRequestHandler(
    card,
    store,
    createDemoAgent(),
    undefined,
    new InMemoryPushNotificationStore(),
  );
  const handler = Object.assign(inner, instead);
  const grants = authTokens === undefined ? undefined : parseAuthTokens(authTokens).grants;
  const app = createApp({
    requestHandler: handler,
    authentication: { ...createAuthentication({ grants, jwt }), ...(userBuilder ? { userBuilder } : {}) },
    bodyLimits: { bytes, jsonDepth: 100 },
    cardDefaultVersion,
    health: () => ({ ready: false, reasons: ['draining'], replicaId: 'r1-boot' }),
    logger,
    ...(operator === undefined ? {} : { operator }),
    ...(contextBuilder === undefined ? {} : { contextBuilder }),
    ...(streaming === undefined ? {} : { streaming }),
  });
  return { app: closing(app), bare: app, handler, storedTasks: () => store.saved.size };
}

/** Keeps no connection open after an answer, so that the test's process ends when the tests do. */
function closing(app: Express): Express {
  const outer = express();
  outer.use((_req, res, next) => {
    res.set('Connection', 'close');
    next();
  });
  return outer.use(app);
}

class CountingStore extends InMemoryTaskStore {
  readonly saved = new Set<string>();

  override async save(...args: Parameters<InMemoryTaskStore['save']>): Promise<void> {
    this.saved.add(args[0].id);
    await super.save(...args);
  }
}

/** The headers of a client of A2A 1.0. */
export const v1 = { 'A2A-Version': '1.0' };

let ids = 0;

/** The JSON of a message of a user. */
export function userMessage(text: string, more: object = {}): object {
  ids += 1;
  return { messageId: `m-${ids}`, role: 'ROLE_USER', parts: [{ text }], ...more };
}

/** The JSON of a JSON-RPC request. */
export function rpc(method: string, params?: unknown): object {
  return { jsonrpc: '2.0', id: 7, method, ...(params === undefined ? {} : { params }) };
}
