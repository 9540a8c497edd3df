import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A way to a server that can be cut. */
export interface Road {
  /** The address of the server, by this way. */
  readonly url: string;
  /** Ends all connections, and refuses new ones. */
  cut(): Promise<void>;
  mend(): Promise<void>;
}

/** Opens one to PostgreSQL. */
export async function openRoad(to: URL): Promise<Road> {
  const sockets = new Set<Socket>();
  let server: Server;
  const open = async (port: number): Promise<number> => {
    server = createServer((near) => {
      const far = connect(Number(to.port || 5432), to.hostname);
      for (const socket of [near, far]) {
        sockets.add(socket);
        socket.on('error', () => {}).once('close', () => [near, far].forEach((end) => end.destroy()));
      }
      near.pipe(far).pipe(near);
    }).listen(port, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    return (server.address() as AddressInfo).port;
  };
  const port = await open(0);
  const url = new URL(to);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return {
    url: url.href,
    async cut() {
      const closed = new Promise((resolve) => server.close(resolve));
      sockets.forEach((socket) => socket.destroy());
      sockets.clear();
      await closed;
    },
    async mend() {
      await open(port);
    },
  };
}
