import { isUtf8 } from 'node:buffer';
import express from 'express';
import type { ErrorRequestHandler, Request, RequestHandler } from 'express';
import { isDeeperThan } from '@a2a-cluster/core';
import type { BodyLimits } from '../limits.js';
import type { Shape } from './shapes.js';
import { bodyTooLarge, internal, malformed, notJson, wrongContentType, type Problem } from './problem.js';

/** How long a client whose body is refused may go on sending, so that it gets to read why. */
const LINGER_MS = 1_000;

/** What `express.json` throws for a body over its limit. */
const TOO_LARGE = { type: 'entity.too.large', status: 413 };

/**
 * Reads a JSON body of one of the content types into `req.body`, up to a number of bytes, those inside a compressed
 * one counted too. The parsers inside the SDK's handlers, with a smaller limit, find it read already.
 *
 * The parser reads a body that is too large to its end before it says so. Here the answer comes as soon as the size
 * is announced or reached, and who then goes on sending is cut off. Bytes that are no UTF-8 are refused: decoded, they
 * would all be one replacement character, and two ids one.
 */
export function jsonBody(types: readonly string[], limits: BodyLimits): RequestHandler {
  const limit = limits.bytes;
  const parse = express.json({ type: [...types], limit, strict: false, verify: checkUtf8 });
  return (req, res, next) => {
    let bytes = 0;
    let over = false;
    const refuse = (): void => {
      if (over || res.headersSent) return;
      over = true;
      stopSending(req);
      next(TOO_LARGE);
    };
    if (Number(req.header('content-length')) > limit) return refuse();
    const count = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > limit) refuse();
    };
    req.on('data', count);
    parse(req, res, (error?: unknown) => {
      req.off('data', count);
      // The parser is done with a request that has its answer, or has lost its client.
      if (!over && !res.headersSent) next(error);
    });
  };
}

/** Lets what the client still sends go nowhere, and ends the connection when it goes on for long. */
function stopSending(req: Request): void {
  const cut = setTimeout(() => req.socket.destroy(), LINGER_MS);
  req.once('close', () => clearTimeout(cut));
  req.resume();
}

// eslint-disable-next-line max-params -- the parser's own signature
function checkUtf8(_req: unknown, _res: unknown, body: Buffer, charset: string): void {
  if (charset === 'utf-8' && !isUtf8(body)) throw new Error('The body is not UTF-8.');
}

/** Whether a body comes with the request. */
export function hasBody(req: Request): boolean {
  const length = req.header('content-length');
  return req.header('transfer-encoding') !== undefined || (length !== undefined && length !== '0');
}

/** The media type of the body in lower case, without parameters. */
export function mediaTypeOf(req: Request): string {
  return (req.header('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/** What is wrong with a request that a parser or the router threw up on. */
export function problemOf(error: Parameters<ErrorRequestHandler>[0]): Problem {
  const { status, type, message } = Object(error) as { status?: unknown; type?: unknown; message?: unknown };
  if (type === 'entity.too.large') return bodyTooLarge('The body is larger than this server accepts.');
  if (type === 'entity.parse.failed') return notJson('The body is not JSON.');
  if (type === 'entity.verify.failed') return notJson('The body is not UTF-8.');
  if (status === 415) return wrongContentType(`The body cannot be read: ${String(message)}.`);
  if (error instanceof URIError) return malformed('The address has a broken percent escape.');
  if (status === 400) return malformed('The request could not be read to its end.');
  return internal('Something went wrong in this server.');
}

/**
 * The problem of JSON that is nested too deep, or undefined. The platform's parser takes any depth; all that comes
 * after it walks through values recursively, so this comes first.
 */
export function depthProblem(value: unknown, { jsonDepth }: BodyLimits): Problem | undefined {
  return isDeeperThan(value, jsonDepth)
    ? malformed(`The JSON is nested deeper than ${jsonDepth} levels.`)
    : undefined;
}

/** What is wrong with a value by its shape, as one sentence, or undefined. */
export function mismatch(shape: Shape, value: unknown): Problem | undefined {
  const parsed = shape.safeParse(value);
  if (parsed.success) return undefined;
  const [issue] = parsed.error.issues;
  const where = issue?.path.map(String).join('.') || 'The request';
  return malformed(`${where} ${issue?.message ?? 'is wrong'}.`);
}
