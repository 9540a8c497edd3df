import type { RequestHandler } from 'express';
import { A2AError } from '@a2a-js/sdk/errors';
import { STATE_HEADERS_KEY, type ServerCallContext } from '@a2a-js/sdk/server';

/** Reasons of refusals that another replica, or this one later, may not give. */
const RETRIABLE: ReadonlySet<string | undefined> = new Set([
  'REPLICA_DRAINING',
  'TOO_MANY_TURNS',
  'TOO_MANY_STREAMS',
  'STORE_UNAVAILABLE',
]);

/** Seconds to wait where the refusal names no time. */
const DEFAULT_RETRY_SECONDS = 1;

interface RestAnswer {
  readonly code: number;
  readonly status: string;
}

interface Refusal {
  readonly seconds: number;
  readonly answer: RestAnswer;
}

/** Another replica may take it. */
const UNAVAILABLE: RestAnswer = { code: 503, status: 'UNAVAILABLE' };
/** The caller has to do with less: what it holds here it holds elsewhere too, as a rule. */
const TOO_MANY: RestAnswer = { code: 429, status: 'RESOURCE_EXHAUSTED' };

/** Turns refusals that pass into what load balancers understand. */
export interface RetryAfter {
  /** Tells the middleware of an error that a call ended in. */
  note(error: unknown, context: ServerCallContext): void;
  /** Over REST a refusal is 503 with `Retry-After`, or 429 where only this caller has too much. */
  readonly rest: RequestHandler;
  /** Over JSON-RPC it gets the header alone: the status says nothing about a call. */
  readonly jsonRpc: RequestHandler;
}

/**
 * The SDK's handlers know one answer for every fault of a server. Which refusal it was is read from the metadata of
 * the error the request handler threw, and not from the answer's body: that of A2A 0.3 does not carry it.
 */
export function createRetryAfter(): RetryAfter {
  /** By the request's headers, which is what a call context and a request have in common. */
  const refusals = new WeakMap<object, Refusal>();

  const note: RetryAfter['note'] = (error, context) => {
    const headers = context.state.get(STATE_HEADERS_KEY);
    const metadata = error instanceof A2AError ? error.metadata : undefined;
    if (!RETRIABLE.has(metadata?.['reason']) || typeof headers !== 'object' || headers === null) return;
    const seconds = Math.ceil(Number(metadata?.['retryAfterMs']) / 1000) || DEFAULT_RETRY_SECONDS;
    refusals.set(headers, { seconds, answer: metadata?.['scope'] === 'owner' ? TOO_MANY : UNAVAILABLE });
  };

  const answer =
    (isRest: boolean): RequestHandler =>
    (req, res, next) => {
      const json = res.json.bind(res);
      res.json = (body: unknown) => {
        const refusal = refusals.get(req.headers);
        if (refusal === undefined) return json(body);
        res.setHeader('Retry-After', String(refusal.seconds));
        if (!isRest) return json(body);
        res.status(refusal.answer.code);
        return json(withAnswer(body, refusal.answer));
      };
      next();
    };

  return {
    note,
    rest: answer(true),
    jsonRpc: answer(false),
  };
}

/** REST's error body, with the code and the name of the answer. */
function withAnswer(body: unknown, answer: RestAnswer): unknown {
  const { error } = Object(body) as { readonly error?: unknown };
  if (typeof error !== 'object' || error === null) return body;
  return { error: { ...error, ...answer } };
}
