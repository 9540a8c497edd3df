import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

/** A door between a replica and its database server that a test can shut. */
export interface TcpProxy {
  /** `url` with the proxy's address in place of the server's. */
  through(url: string): string;
  /** Cuts every connection and takes no new ones. */
  shut(): void;
  open(): void;
  close(): Promise<void>;
}

/** Starts a proxy to a server on this machine. */
export async function startTcpProxy(target: {
  readonly host: string;
  readonly port: number;
}): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let shut = false;
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
  };
  const server: Server = createServer((client) => {
    keep(client);
    if (shut) return void client.destroy();
    const upstream = connect(target.port, target.host);
    keep(upstream);
    client.pipe(upstream);
    upstream.pipe(client);
    client.once('close', () => upstream.destroy());
    upstream.once('close', () => client.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    through(url) {
      const moved = new URL(url);
      moved.hostname = '127.0.0.1';
      moved.port = String(port);
      return moved.toString();
    },
    shut() {
      shut = true;
      cut();
    },
    open() {
      shut = false;
    },
    async close() {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}
