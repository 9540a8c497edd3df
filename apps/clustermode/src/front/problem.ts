import type { Request, Response } from 'express';
import { A2A_CONTENT_TYPE } from '@a2a-js/sdk';
import { REST_PATH } from '../agent/card.js';
import { noteRefusal } from '../audit/request-notes.js';

/** Something wrong with a request, in the words of both transports. */
export interface Problem {
  /** The HTTP status over REST, and over JSON-RPC where the SDK does not answer 200. */
  readonly httpStatus: number;
  /** The JSON-RPC error code. */
  readonly rpcCode: number;
  /** The name of the status in the REST body (`google.rpc.Code`). */
  readonly status: string;
  /** The reason in `google.rpc.ErrorInfo`. */
  readonly reason: string;
  /** For people; never what was thrown. */
  readonly message: string;
}

/** Makes a problem of one sort: only the message differs. */
export type ProblemKind = (message: string) => Problem;

/** The body is not JSON. */
export const notJson: ProblemKind = kind({
  httpStatus: 400,
  rpcCode: -32700,
  status: 'INVALID_ARGUMENT',
  reason: 'INVALID_PARAMS',
});
/** The JSON is no JSON-RPC request. */
export const invalidRequest: ProblemKind = kind({
  httpStatus: 400,
  rpcCode: -32600,
  status: 'INVALID_ARGUMENT',
  reason: 'INVALID_PARAMS',
});
/** The parameters are wrong. */
export const malformed: ProblemKind = kind({
  httpStatus: 400,
  rpcCode: -32602,
  status: 'INVALID_ARGUMENT',
  reason: 'INVALID_PARAMS',
});
/** The body is no JSON by its content type, charset or encoding. */
export const wrongContentType: ProblemKind = kind({
  httpStatus: 400,
  rpcCode: -32005,
  status: 'INVALID_ARGUMENT',
  reason: 'CONTENT_TYPE_NOT_SUPPORTED',
});
/** The body is over the limit. */
export const bodyTooLarge: ProblemKind = kind({
  httpStatus: 413,
  rpcCode: -32600,
  status: 'INVALID_ARGUMENT',
  reason: 'REQUEST_TOO_LARGE',
});
/** The client took too long to send its request. */
export const requestTimeout: ProblemKind = kind({
  httpStatus: 408,
  rpcCode: -32600,
  status: 'DEADLINE_EXCEEDED',
  reason: 'REQUEST_TIMEOUT',
});
/** The headers are over the limit. */
export const headersTooLarge: ProblemKind = kind({
  httpStatus: 431,
  rpcCode: -32600,
  status: 'INVALID_ARGUMENT',
  reason: 'HEADERS_TOO_LARGE',
});
/** What came is no HTTP. */
export const noHttp: ProblemKind = kind({
  httpStatus: 400,
  rpcCode: -32600,
  status: 'INVALID_ARGUMENT',
  reason: 'BAD_REQUEST',
});
/** There is nothing at this path. */
export const noRoute: ProblemKind = kind({
  httpStatus: 404,
  rpcCode: -32601,
  status: 'NOT_FOUND',
  reason: 'ROUTE_NOT_FOUND',
});
/** The path knows other HTTP methods only. */
export const wrongMethod: ProblemKind = kind({
  httpStatus: 405,
  rpcCode: -32600,
  status: 'UNIMPLEMENTED',
  reason: 'METHOD_NOT_ALLOWED',
});
/** No valid token came with the request. */
export const unauthenticated: ProblemKind = kind({
  httpStatus: 401,
  rpcCode: -32000,
  status: 'UNAUTHENTICATED',
  reason: 'UNAUTHENTICATED',
});
/** The token is valid, and whoever has it may not do this. */
export const forbidden: ProblemKind = kind({
  httpStatus: 403,
  rpcCode: -32000,
  status: 'PERMISSION_DENIED',
  reason: 'PERMISSION_DENIED',
});
/** The replica cannot answer now. */
export const unavailable: ProblemKind = kind({
  httpStatus: 503,
  rpcCode: -32603,
  status: 'UNAVAILABLE',
  reason: 'UNAVAILABLE',
});
/** A fault of ours. */
export const internal: ProblemKind = kind({
  httpStatus: 500,
  rpcCode: -32603,
  status: 'INTERNAL',
  reason: 'INTERNAL_ERROR',
});

function kind(words: Omit<Problem, 'message'>): ProblemKind {
  return (message) => ({ ...words, message });
}

/** What {@link sendRpcProblem} needs to know besides the problem. */
export interface RpcProblemOptions {
  readonly problem: Problem;
  /** The id of the request, where it could be read. */
  readonly id?: string | number | null;
  /** The HTTP status; default 200, as the SDK answers everything that JSON-RPC can say. */
  readonly httpStatus?: number;
}

/** Answers in JSON-RPC's form. */
export function sendRpcProblem(res: Response, options: RpcProblemOptions): void {
  const { problem, id = null, httpStatus = 200 } = options;
  const { rpcCode, message } = problem;
  noteProblem(res.req, problem);
  res
    .status(httpStatus)
    .json({ jsonrpc: '2.0', id, error: { code: rpcCode, message, data: [errorInfo(problem)] } });
}

/** Answers in REST's form; a client of A2A 0.3 on its own paths gets the form it knows. */
export function sendRestProblem(req: Request, res: Response, problem: Problem): void {
  const { httpStatus, rpcCode, message } = problem;
  noteProblem(req, problem);
  res.status(httpStatus);
  if (isLegacyRest(req)) {
    res.json({ code: rpcCode, message });
    return;
  }
  res.setHeader('Content-Type', A2A_CONTENT_TYPE);
  res.json(restBody(problem));
}

/** The body of an answer in REST's form. */
export function restBody(problem: Problem): object {
  const { httpStatus, status, message } = problem;
  return { error: { code: httpStatus, status, message, details: [errorInfo(problem)] } };
}

/** Whether the request speaks A2A 0.3, which is also what silence about the version means. */
export function isLegacyVersion(req: Request): boolean {
  return /^\s*(0(\.|$)|$)/.test(req.header('A2A-Version') ?? '');
}

function isLegacyRest(req: Request): boolean {
  return isLegacyVersion(req) && req.originalUrl.startsWith(`${REST_PATH}/v1/`);
}

function noteProblem(req: Request, { rpcCode, reason, message }: Problem): void {
  noteRefusal(req, { code: rpcCode, reason, message });
}

function errorInfo(problem: Problem): object {
  return {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason: problem.reason,
    domain: 'a2a-protocol.org',
  };
}
