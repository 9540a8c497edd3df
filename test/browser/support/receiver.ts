import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A receiver of webhooks that answers what it is told to. */
export interface Receiver {
  readonly url: string;
  /** The status of its next answers. */
  answer(status: number): void;
  /** How many requests came. */
  count(): number;
  close(): Promise<void>;
}

/** Starts one on loopback. */
export async function startReceiver(status: number): Promise<Receiver> {
  let now = status;
  let requests = 0;
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      requests += 1;
      response.writeHead(now).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks/invoices`,
    answer: (next) => (now = next),
    count: () => requests,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
