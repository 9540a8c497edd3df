import type { Request, RequestHandler, Response } from 'express';
import { UnauthenticatedUser, type User } from '@a2a-js/sdk/server';
import { JSON_RPC_PATH } from './agent/card.js';
import { notesOf } from './audit/request-notes.js';
import type { Grant } from './auth-tokens.js';
import { bearerOf, tokenLookup } from './auth/bearer.js';
import { looksLikeJwt, type JwtOutcome, type JwtVerifier } from './auth/jwt-verifier.js';
import type { Principal } from './auth/principal.js';
import {
  forbidden,
  sendRestProblem,
  sendRpcProblem,
  unauthenticated,
  unavailable,
  type Problem,
} from './front/problem.js';

/** Checks Bearer tokens, and tells the SDK's handlers who a request is from. */
export interface Authentication {
  /**
   * Answers 401 in A2A's error form unless the request carries a valid token, 403 when its principal cannot be one
   * here, 503 when that cannot be told now. Reads no body.
   */
  readonly guard: RequestHandler;
  /** The user of a request that passed the guard. */
  readonly userBuilder: (req: Request) => Promise<User>;
}

/** Options of {@link createAuthentication}; with none set, everybody may do everything and nobody is named. */
export interface AuthenticationOptions {
  /** The tokens of `AUTH_TOKENS`. */
  readonly grants?: readonly Grant[] | undefined;
  /** Takes what looks like a JSON Web Token and is no token of `grants`. */
  readonly jwt?: JwtVerifier | undefined;
}

/** Seconds until keys that could not be fetched are worth another request. */
const KEYS_RETRY_SECONDS = 2;

/** Authentication as it is configured: known tokens, JSON Web Tokens, both, or none. */
export function createAuthentication(options: AuthenticationOptions): Authentication {
  const { grants, jwt } = options;
  if (grants === undefined && jwt === undefined) {
    const nobody = new UnauthenticatedUser();
    return { guard: (_req, _res, next) => next(), userBuilder: () => Promise.resolve(nobody) };
  }
  const known = tokenLookup((grants ?? []).map((grant) => [grant.token, principalOf(grant)] as const));
  const principals = new WeakMap<Request, Principal>();

  const judge = async (token: string): Promise<JwtOutcome> => {
    const principal = known(token);
    if (principal !== undefined) return { is: 'valid', principal };
    if (jwt !== undefined && looksLikeJwt(token)) return jwt.verify(token);
    return { is: 'invalid', detail: token === '' ? 'TOKEN_MISSING' : 'TOKEN_UNKNOWN' };
  };

  return {
    async guard(req, res, next) {
      const outcome = await judge(bearerOf(req));
      if (outcome.is !== 'valid') return refuse(res, outcome);
      const { userName, tenant } = outcome.principal;
      Object.assign(notesOf(req), { user: userName, tenant });
      principals.set(req, outcome.principal);
      next();
    },
    async userBuilder(req) {
      const principal = principals.get(req);
      if (principal === undefined) throw new Error('The request did not pass the guard.');
      return principal;
    },
  };
}

const PROBLEMS: Readonly<Record<Exclude<JwtOutcome['is'], 'valid'>, Problem>> = {
  invalid: unauthenticated('A valid Bearer token is needed.'),
  forbidden: forbidden('The token is valid, but its user or its tenant cannot be used here.'),
  unavailable: unavailable('Tokens cannot be checked at the moment. Try again.'),
};

function refuse(res: Response, outcome: Exclude<JwtOutcome, { is: 'valid' }>): void {
  const problem = PROBLEMS[outcome.is];
  notesOf(res.req).detail = outcome.detail;
  if (outcome.is === 'invalid') res.setHeader('WWW-Authenticate', 'Bearer');
  if (outcome.is === 'unavailable') res.setHeader('Retry-After', String(KEYS_RETRY_SECONDS));
  const isRpc = res.req.originalUrl.split('?', 1)[0]?.startsWith(JSON_RPC_PATH);
  if (isRpc) sendRpcProblem(res, { problem, httpStatus: problem.httpStatus });
  else sendRestProblem(res.req, res, problem);
}

function principalOf(grant: Grant): Principal {
  return { isAuthenticated: true, userName: grant.user, tenant: grant.tenant ?? '' };
}
