import { STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Request, Response } from 'express';
import { A2A_CONTENT_TYPE } from '@a2a-js/sdk';
import { JSON_RPC_PATH } from './agent/card.js';
import {
  headersTooLarge,
  noHttp,
  requestTimeout,
  restBody,
  sendRestProblem,
  sendRpcProblem,
  type Problem,
} from './front/problem.js';

/** A request that an app has been given. */
interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** As it came: a router shortens that of the request while it works. */
  readonly url: string;
}

/**
 * Answers what the platform's server refuses by itself, before or instead of an app: a request that takes too long, a
 * head that is too large, and what is no HTTP. In the transport's form where the request names one, else in REST's.
 */
export function answerClientErrors(server: Server): void {
  const exchanges = new WeakMap<Duplex, Exchange>();
  server.prependListener(
    'request',
    (req, res) => void exchanges.set(req.socket, { req, res, url: req.url ?? '' }),
  );
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const exchange = exchanges.get(socket);
    const open = exchange !== undefined && !exchange.res.writableEnded ? exchange : undefined;
    // Nobody is there to read it, or an answer is on its way already.
    if (error.code === 'ECONNRESET' || !socket.writable || open?.res.headersSent) socket.destroy();
    else if (open === undefined) answerSocket(socket, problemOf(error));
    else answerExchange(open, problemOf(error));
  });
}

function problemOf(error: NodeJS.ErrnoException): Problem {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return requestTimeout('The request took too long to come.');
  if (error.code === 'HPE_HEADER_OVERFLOW')
    return headersTooLarge('The headers are larger than this server accepts.');
  return noHttp('This is no HTTP request.');
}

/** By the app's own means: it has had the request, and so has made these objects its own. */
function answerExchange({ req, res, url }: Exchange, problem: Problem): void {
  res.setHeader('Connection', 'close');
  if (url.startsWith(JSON_RPC_PATH))
    sendRpcProblem(res as Response, { problem, httpStatus: problem.httpStatus });
  else sendRestProblem(req as Request, res as Response, problem);
}

function answerSocket(socket: Duplex, problem: Problem): void {
  const body = JSON.stringify(restBody(problem));
  const head = [
    `HTTP/1.1 ${problem.httpStatus} ${STATUS_CODES[problem.httpStatus] ?? ''}`,
    'Connection: close',
    `Content-Type: ${A2A_CONTENT_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
