import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { errorText, type Logger } from '@a2a-cluster/core';
import { JSON_RPC_PATH } from './agent/card.js';
import { answerClientErrors } from './client-errors.js';
import { StartFault } from './exit-code.js';
import { sendRestProblem, sendRpcProblem, unavailable } from './front/problem.js';
import { healthRoutes } from './health.js';
import { DEFAULT_HTTP_LIMITS, type HttpLimits } from './limits.js';

/** Longest time between two looks for clients that take too long. */
const MOST_CHECKING_MS = 5_000;
/** Time for which dropped connections are counted before they are told of. */
const TELL_AFTER_MS = 1_000;
/** Time the last answers have to reach their clients once everything else has stopped. */
const LAST_ANSWERS_MS = 1_000;

/** A listening server whose app can come later. */
export interface HttpServer {
  readonly port: number;
  /** From now on this app answers. */
  serve(app: RequestListener): void;
  /** Stops listening, waits a moment for answers under way, and cuts what is left. */
  close(): Promise<void>;
}

/** What to listen on, and how. */
export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** The settings it comes from, for the message when it cannot be listened on; default `HOST, PORT`. */
  readonly settings?: string;
  /** Default: {@link DEFAULT_HTTP_LIMITS}. */
  readonly limits?: HttpLimits;
  readonly logger?: Logger;
}

/**
 * Listens at once, so that a port in use is found before anything else is opened. Until there is an app, the health
 * routes say `starting` and everything else is answered with 503.
 * @throws StartFault when the address cannot be listened on.
 */
export async function listen(options: ListenOptions): Promise<HttpServer> {
  const { limits = DEFAULT_HTTP_LIMITS, logger } = options;
  let app: RequestListener = startingApp();
  const server = createServer(serverOptions(limits), (req, res) => app(req, res));
  server.maxConnections = limits.maxConnections;
  answerClientErrors(server);
  if (logger) tellOfDrops(server, limits, logger);
  await bind(server, options);
  return {
    port: (server.address() as AddressInfo).port,
    serve: (next) => void (app = next),
    close: () => closeServer(server),
  };
}

function serverOptions(limits: HttpLimits): ServerOptions {
  const { headersTimeoutMs, requestTimeoutMs, keepAliveTimeoutMs, maxHeaderBytes } = limits;
  return {
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    maxHeaderSize: maxHeaderBytes,
    // The platform looks every 30 s, which is as long as a client could take on top.
    connectionsCheckingInterval: Math.min(MOST_CHECKING_MS, Math.ceil(headersTimeoutMs / 4)),
  };
}

/** Connections over the limit are closed by the platform; one line in a while says how many. */
function tellOfDrops(server: Server, { maxConnections }: HttpLimits, logger: Logger): void {
  let dropped = 0;
  server.on('drop', () => {
    dropped += 1;
    if (dropped > 1) return;
    setTimeout(() => {
      logger.warn({ dropped, maxConnections }, 'connections were refused: there are as many as there may be');
      dropped = 0;
    }, TELL_AFTER_MS).unref();
  });
}

function bind(server: Server, { host, port, settings = 'HOST, PORT' }: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const why = cause.code === 'EADDRINUSE' ? 'the port is in use' : errorText(cause);
      reject(new StartFault(`Cannot listen on ${host} port ${port} (${settings}): ${why}.`, { cause }));
    });
    server.listen({ host, port }, resolve);
  });
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), LAST_ANSWERS_MS);
    server.close(() => {
      clearTimeout(cut);
      resolve();
    });
    server.closeIdleConnections();
  });
}

function startingApp(): RequestListener {
  const app = express();
  app.disable('x-powered-by');
  app.use(healthRoutes(() => ({ ready: false, reasons: ['starting'] })));
  app.use((req, res) => {
    const problem = unavailable('This replica is starting.');
    res.set('Retry-After', '1');
    if (req.path.startsWith(JSON_RPC_PATH)) sendRpcProblem(res, { problem, httpStatus: problem.httpStatus });
    else sendRestProblem(req, res, problem);
  });
  return app;
}
