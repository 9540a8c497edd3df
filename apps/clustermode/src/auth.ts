import { createHash, timingSafeEqual } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import { UnauthenticatedUser, type User } from '@a2a-js/sdk/server';
import type { Grant } from './auth-tokens.js';
import { JSON_RPC_PATH } from './agent/card.js';
import { sendRestProblem, sendRpcProblem, unauthenticated } from './front/problem.js';

/** Somebody whose token was valid, and the one tenant they may act in. */
export interface Principal extends User {
  /** `''`: the tenant without a name. */
  readonly tenant: string;
}

/** Checks Bearer tokens, and tells the SDK's handlers who a request is from. */
export interface Authentication {
  /** Answers 401 in A2A's error form unless the request carries a valid token. Reads no body. */
  readonly guard: RequestHandler;
  /** The user of a request that passed the guard. */
  readonly userBuilder: (req: Request) => Promise<User>;
}

/**
 * Authentication by the tokens of `AUTH_TOKENS`; without any, everybody may do everything and nobody is named.
 * Every token is compared with every known one in constant time, by digest.
 */
export function createAuthentication(grants: readonly Grant[] | undefined): Authentication {
  if (grants === undefined) {
    const nobody = new UnauthenticatedUser();
    return { guard: (_req, _res, next) => next(), userBuilder: () => Promise.resolve(nobody) };
  }
  const known = grants.map((grant) => ({ digest: digestOf(grant.token), principal: principalOf(grant) }));
  const principals = new WeakMap<Request, Principal>();

  const find = (token: string): Principal | undefined => {
    const digest = digestOf(token);
    let found: Principal | undefined;
    for (const entry of known) if (timingSafeEqual(entry.digest, digest)) found = entry.principal;
    return found;
  };

  return {
    guard(req, res, next) {
      const principal = find(bearerOf(req));
      if (principal === undefined) return refuse(req, res);
      principals.set(req, principal);
      next();
    },
    async userBuilder(req) {
      const principal = principals.get(req);
      if (principal === undefined) throw new Error('The request did not pass the guard.');
      return principal;
    },
  };
}

/** Whether a user of the SDK's is a principal of ours. */
export function isPrincipal(user: User | undefined): user is Principal {
  return user !== undefined && user.isAuthenticated && 'tenant' in user && typeof user.tenant === 'string';
}

function refuse(req: Request, res: Response): void {
  const problem = unauthenticated('A valid Bearer token is needed.');
  res.setHeader('WWW-Authenticate', 'Bearer');
  const isRpc = req.originalUrl.split('?', 1)[0]?.startsWith(JSON_RPC_PATH);
  if (isRpc) sendRpcProblem(res, { problem, httpStatus: problem.httpStatus });
  else sendRestProblem(req, res, problem);
}

function bearerOf(req: Request): string {
  return /^Bearer +(\S+)$/i.exec(req.header('authorization') ?? '')?.[1] ?? '';
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

function principalOf(grant: Grant): Principal {
  return { isAuthenticated: true, userName: grant.user, tenant: grant.tenant ?? '' };
}
