import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { WireEvent } from './a2a-client.js';

/** A webhook that keeps everything it is sent. */
export interface Webhook {
  readonly url: string;
  readonly bodies: readonly WireEvent[];
  /** All bodies so far, once one of them fits. */
  find(fits: (body: WireEvent) => boolean): Promise<readonly WireEvent[]>;
  close(): Promise<void>;
}

/** Starts one on loopback. */
export async function startWebhook(): Promise<Webhook> {
  const bodies: WireEvent[] = [];
  const waiters = new Set<() => void>();
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      bodies.push(JSON.parse(Buffer.concat(chunks).toString('utf8')) as WireEvent);
      response.end();
      for (const wake of waiters) wake();
      waiters.clear();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    bodies,
    async find(fits) {
      while (!bodies.some(fits)) await new Promise<void>((resolve) => waiters.add(resolve));
      return bodies;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
