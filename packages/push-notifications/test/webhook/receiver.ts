import { createServer as createHttpServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { WebhookRequest } from '../../src/index.js';
import type { TestCertificate } from './certificate.js';

/** A request as it came in. */
export interface Arrived {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A real server on 127.0.0.1. */
export interface Receiver {
  readonly port: number;
  readonly arrived: readonly Arrived[];
  /** Connections that were made so far. */
  connections(): number;
  /** Connections that stand. */
  open(): number;
  /** Resolves when `condition` holds, asked at every event of a connection. */
  until(condition: () => boolean): Promise<void>;
  close(): Promise<void>;
}

/** Starts a server that answers each request by `answer`; with a certificate it speaks TLS. */
export async function startReceiver(
  answer: (response: ServerResponse, arrived: Arrived) => void = (response) => response.end(),
  certificate?: TestCertificate,
): Promise<Receiver> {
  const arrived: Arrived[] = [];
  const handler = ((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (piece: string) => (body += piece));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const one = { method, path: url, headers, body };
      arrived.push(one);
      answer(response, one);
    });
  }) satisfies Parameters<typeof createHttpServer>[1];
  return started(certificate ? createHttpsServer(certificate, handler) : createHttpServer(handler), arrived);
}

/** Starts a server of bare sockets. */
export function startSocketServer(onSocket: (socket: Socket) => void): Promise<Receiver> {
  return started(createTcpServer(onSocket), []);
}

/** A request for a receiver's port. */
export function requestTo(url: string, more: Partial<WebhookRequest> = {}): WebhookRequest {
  return {
    url,
    body: '{"a":1}',
    contentType: 'application/json',
    notificationId: 't:1:c',
    headers: {},
    ...more,
  };
}

async function started(server: Server, arrived: readonly Arrived[]): Promise<Receiver> {
  const sockets = new Set<Socket>();
  const watchers = new Set<() => void>();
  const changed = (): void => watchers.forEach((watch) => watch());
  let connections = 0;
  server.on('connection', (socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', () => setImmediate(changed));
    socket.on('close', () => {
      sockets.delete(socket);
      changed();
    });
    changed();
  });
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    arrived,
    connections: () => connections,
    open: () => sockets.size,
    until: (condition) =>
      new Promise((resolve) => {
        const watch = (): void => {
          if (!condition()) return;
          watchers.delete(watch);
          resolve();
        };
        watchers.add(watch);
        watch();
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        sockets.forEach((socket) => socket.destroy());
      }),
  };
}
