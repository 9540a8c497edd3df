import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { errorText } from '@a2a-cluster/core';
import { JSON_RPC_PATH } from './agent/card.js';
import { StartFault } from './exit-code.js';
import { sendRestProblem, sendRpcProblem, unavailable } from './front/problem.js';
import { healthRoutes } from './health.js';

/** Longest time a client may take to send one request. */
const REQUEST_TIMEOUT_MS = 60_000;
/** Time the last answers have to reach their clients once everything else has stopped. */
const LAST_ANSWERS_MS = 1_000;

/** Where to listen. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  /** The settings it comes from, for the message when it cannot be listened on; default `HOST, PORT`. */
  readonly settings?: string;
}

/** A listening server whose app can come later. */
export interface HttpServer {
  readonly port: number;
  /** From now on this app answers. */
  serve(app: RequestListener): void;
  /** Stops listening, waits a moment for answers under way, and cuts what is left. */
  close(): Promise<void>;
}

/**
 * Listens at once, so that a port in use is found before anything else is opened. Until there is an app, the health
 * routes say `starting` and everything else is answered with 503.
 * @throws StartFault when the address cannot be listened on.
 */
export async function listen(address: ListenAddress): Promise<HttpServer> {
  let app: RequestListener = startingApp();
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (req, res) => app(req, res));
  await bind(server, address);
  return {
    port: (server.address() as AddressInfo).port,
    serve: (next) => void (app = next),
    close: () => closeServer(server),
  };
}

function bind(server: Server, { host, port, settings = 'HOST, PORT' }: ListenAddress): Promise<void> {
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
