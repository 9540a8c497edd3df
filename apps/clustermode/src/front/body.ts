import { isUtf8 } from 'node:buffer';
import express from 'express';
import type { ErrorRequestHandler, Request, RequestHandler } from 'express';
import type { Shape } from './shapes.js';
import { bodyTooLarge, internal, malformed, notJson, wrongContentType, type Problem } from './problem.js';

/** How deep JSON may be nested; what protobuf's parsers take, and far below what overflows a stack. */
export const MAX_DEPTH = 100;

/**
 * Reads a JSON body of one of the content types into `req.body`, up to `limit` bytes. The parsers inside the SDK's
 * handlers, with a smaller limit, find it read already. Bytes that are no UTF-8 are refused: decoded, they would all
 * be one replacement character, and two ids one.
 */
export function jsonBody(types: readonly string[], limit: number): RequestHandler {
  return express.json({ type: [...types], limit, strict: false, verify: checkUtf8 });
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

/** What is wrong with a value by its shape, as one sentence, or undefined. */
export function mismatch(shape: Shape, value: unknown): Problem | undefined {
  if (isDeeperThan(value, MAX_DEPTH)) return malformed(`The JSON is nested deeper than ${MAX_DEPTH} levels.`);
  const parsed = shape.safeParse(value);
  if (parsed.success) return undefined;
  const [issue] = parsed.error.issues;
  const where = issue?.path.map(String).join('.') || 'The request';
  return malformed(`${where} ${issue?.message ?? 'is wrong'}.`);
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeperThan(inner, levels - 1));
}
