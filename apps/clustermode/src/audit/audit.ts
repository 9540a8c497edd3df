import { randomUUID } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import { isStorableKey, type Logger } from '@a2a-cluster/core';
import { isRpcMethod } from '../front/rpc-methods.js';
import { errorEventIn, errorIn } from './error-answer.js';
import { notesOf, type Refusal } from './request-notes.js';

/** A name of a request that a client may choose; anything else is replaced. */
const REQUEST_ID = /^[\w.-]{1,64}$/;
/** A path is as long as a client likes. */
const MAX_ROUTE_CHARS = 256;
/** Refusals that are worth a look when there are many: somebody tries doors. */
const SUSPICIOUS: ReadonlySet<string> = new Set([
  'UNAUTHENTICATED',
  'PERMISSION_DENIED',
  'WEBHOOK_ADDRESS_REFUSED',
]);
/** What the log has already, as an error with its stack: no refusal but a fault of ours. */
const FAULT = 'INTERNAL_ERROR';

/**
 * Gives every request an id, which its answer carries, and writes one line for each that is refused: who, where,
 * what and why. The reason is that of the error, not of the status: JSON-RPC refuses with 200. No line has a token, a
 * query, a body, or words of a client but for ids and the path.
 */
export function auditTrail(logger: Logger): RequestHandler {
  return (req, res, next) => {
    const notes = notesOf(req);
    const given = req.header('x-request-id') ?? '';
    notes.requestId = REQUEST_ID.test(given) ? given : randomUUID();
    res.setHeader('X-Request-Id', notes.requestId);
    watchAnswer(res, (refusal) => {
      notes.refusal ??= refusal;
    });
    let written = false;
    const write = (): void => {
      if (written) return;
      written = true;
      const refusal = notes.refusal ?? refusalByStatus(res);
      if (refusal !== undefined && refusal.reason !== FAULT) writeLine({ logger, req, res, refusal });
    };
    // A stream that its client leaves never finishes; it closes.
    res.once('finish', write).once('close', write);
    next();
  };
}

/** What the SDK refuses by itself, before or behind a call, is found in its answer only. */
function watchAnswer(res: Response, found: (refusal: Refusal) => void): void {
  const look = (body: unknown): void => {
    const error = errorIn(body);
    if (error !== undefined) found({ code: error.code, reason: error.reason ?? reasonOfCode(error.code) });
  };
  const json = res.json.bind(res);
  res.json = (body: unknown) => {
    look(body);
    return json(body);
  };
  const write = res.write.bind(res) as (...words: readonly unknown[]) => boolean;
  res.write = (...words: readonly unknown[]) => {
    const event = errorEventIn(words[0]);
    if (event !== undefined) look(event);
    return write(...words);
  };
}

function reasonOfCode(code: number): string {
  return code === -32603 || code === 500 ? FAULT : `CODE_${code}`;
}

function refusalByStatus({ statusCode }: Response): Refusal | undefined {
  if (statusCode < 400) return undefined;
  return { reason: statusCode === 500 ? FAULT : `HTTP_${statusCode}` };
}

interface Line {
  readonly logger: Logger;
  readonly req: Request;
  readonly res: Response;
  readonly refusal: Refusal;
}

function writeLine({ logger, req, res, refusal }: Line): void {
  const { requestId, user, tenant, taskId, detail } = notesOf(req);
  const { method: rpcMethod } = Object(req.body) as { readonly method?: unknown };
  const fields = {
    audit: true,
    requestId,
    remoteAddress: req.socket.remoteAddress,
    method: req.method,
    route: req.originalUrl.split('?', 1)[0]?.slice(0, MAX_ROUTE_CHARS),
    rpcMethod: isRpcMethod(rpcMethod) ? rpcMethod : undefined,
    status: res.statusCode,
    code: refusal.code,
    reason: refusal.reason,
    detail,
    user,
    tenant,
    taskId: taskId !== undefined && isStorableKey(taskId) ? taskId : undefined,
  };
  logger[SUSPICIOUS.has(refusal.reason) ? 'warn' : 'info'](fields, 'refused');
}
