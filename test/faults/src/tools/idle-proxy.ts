import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { LoadBalancer } from './nginx.js';
import { own } from './owned.js';

/** What {@link startIdleProxy} is told. */
export interface IdleProxyOptions {
  /** Ports of replicas on this machine: each new connection goes to the next. */
  readonly ports: readonly number[];
  /** Cuts a connection by which nothing went, either way, for so long. */
  readonly idleMs: number;
}

/** A balancer of connections that cuts idle ones, and how many it has cut. */
export interface IdleProxy extends LoadBalancer {
  cuts(): number;
}

/** Starts a balancer of TCP connections in this process: for R22 where nginx is not installed. */
export async function startIdleProxy({ ports, idleMs }: IdleProxyOptions): Promise<IdleProxy> {
  const sockets = new Set<Socket>();
  let next = 0;
  let cuts = 0;
  const server = createServer((client) => {
    const replica = connect(ports[next % ports.length] as number, '127.0.0.1');
    next += 1;
    const pair = [client, replica];
    const end = (): void => pair.forEach((socket) => socket.destroy());
    for (const socket of pair) {
      sockets.add(socket);
      socket.on('error', end);
      socket.once('close', () => {
        sockets.delete(socket);
        end();
      });
    }
    // The client's socket sees both ways: what it says and what it is told.
    client.setTimeout(idleMs, () => {
      cuts += 1;
      end();
    });
    client.pipe(replica).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  let removing: Promise<void> | undefined;
  const remove = (): Promise<void> => {
    disown();
    removing ??= new Promise((resolve) => server.close(() => resolve()));
    for (const socket of sockets) socket.destroy();
    return removing;
  };
  const disown = own({ endNow: () => void remove() });
  return { port, base: `http://127.0.0.1:${port}`, cuts: () => cuts, remove };
}
