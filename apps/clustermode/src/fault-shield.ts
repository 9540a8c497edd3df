import type { Request, RequestHandler, Response } from 'express';
import { A2AError } from '@a2a-js/sdk/errors';
import {
  defaultServerCallContextBuilder,
  type A2ARequestHandler,
  type ServerCallContext,
} from '@a2a-js/sdk/server';
import type { JsonRpcHandlerOptions } from '@a2a-js/sdk/server/express';
import type { Logger } from '@a2a-cluster/core';
import { errorEvent, errorEventIn, errorIn, withMessage } from './audit/error-answer.js';
import { noteContext, notesOf, notesOfCall, refusalOf, type RequestNotes } from './audit/request-notes.js';

/** All a client learns of a fault of ours. */
const INTERNAL = 'Internal error.';

type UserBuilder = JsonRpcHandlerOptions['userBuilder'];
type ContextBuilder = NonNullable<JsonRpcHandlerOptions['contextBuilder']>;

/**
 * Keeps the inside inside. The SDK's transports put the message of any error into the answer, so an error that is not
 * A2A's own is logged, once, with its stack, and the transports get a generic one in its place.
 */
export interface FaultShield {
  /** The error the client gets for one that ended a call. */
  ofCall(error: unknown, context: ServerCallContext): A2AError;
  /** The card's provider, which is asked outside of calls too. */
  card(provider: A2ARequestHandler['getAgentCard']): A2ARequestHandler['getAgentCard'];
  userBuilder(build: UserBuilder): UserBuilder;
  /** Default: the SDK's own. */
  contextBuilder(build?: ContextBuilder): ContextBuilder;
  /** Runs before a transport, for what the SDK itself throws where no call is: while it reads or writes JSON. */
  readonly answers: RequestHandler;
}

/** A shield that writes to this log. */
export function createFaultShield(logger: Logger): FaultShield {
  const shown = (error: unknown, notes: RequestNotes): A2AError => {
    const known = error instanceof A2AError;
    if (!known) logger.error({ err: error, requestId: notes.requestId }, 'a request failed');
    const told = known ? error : new A2AError({ message: INTERNAL });
    notes.refusal = refusalOf(told);
    return told;
  };
  return {
    ofCall: (error, context) => shown(error, notesOfCall(context)),
    card: (provider) => async () => {
      try {
        return await provider();
      } catch (error) {
        throw shown(error, {});
      }
    },
    userBuilder: (build) => async (req) => {
      try {
        return await build(req);
      } catch (error) {
        throw shown(error, notesOf(req));
      }
    },
    contextBuilder:
      (build = defaultServerCallContextBuilder) =>
      (options) => {
        const req = { headers: options.headers ?? {} };
        try {
          const context = build(options);
          noteContext(req, context);
          return context;
        } catch (error) {
          throw shown(error, notesOf(req));
        }
      },
    answers: (req, res, next) => {
      guardAnswer(res, (body) => withoutInside({ body, req, logger }));
      next();
    },
  };
}

function guardAnswer(res: Response, change: (body: unknown) => unknown): void {
  const json = res.json.bind(res);
  res.json = (body: unknown) => json(change(body));
  const write = res.write.bind(res) as (...words: readonly unknown[]) => boolean;
  res.write = (...words: readonly unknown[]) => {
    const event = errorEventIn(words[0]);
    return event === undefined ? write(...words) : write(errorEvent(change(event)), ...words.slice(1));
  };
}

interface Answer {
  readonly body: unknown;
  readonly req: Request;
  readonly logger: Logger;
}

/** An internal error whose words are not those that one of us chose for this request came past us. */
function withoutInside({ body, req, logger }: Answer): unknown {
  const error = errorIn(body);
  if (error === undefined || (error.code !== -32603 && error.code !== 500)) return body;
  const { refusal, requestId } = notesOf(req);
  if (error.message === refusal?.message || error.message === INTERNAL) return body;
  logger.error(
    { requestId, reason: error.message },
    'the SDK could not read or write a request or an answer',
  );
  return withMessage(body, INTERNAL);
}
