import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A TCP proxy that can fall silent: connections stay open, nothing passes any more, as behind a dead switch. */
export interface FrozenProxy {
  /** The URL with the proxy in place of its host and port. */
  readonly url: string;
  /** From now on nothing passes, in either direction; new connections are accepted and not answered. */
  freeze(): void;
  close(): Promise<void>;
}

/** The answer of PgBouncer to a start parameter it does not know. */
function refusal(): Buffer {
  const fields = ['SFATAL', 'VFATAL', 'C08P01', 'Munsupported startup parameter: options', ''].join('\0');
  const body = Buffer.from(`${fields}\0`);
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

/** Starts a proxy before the server of a URL; with `refuseOptions` it refuses session settings as poolers do. */
export async function createFrozenProxy(
  url: string,
  { refuseOptions = false }: { readonly refuseOptions?: boolean } = {},
): Promise<FrozenProxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let frozen = false;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk) => {
        if (refuseOptions && from === client && chunk.includes('\0options\0')) from.end(refusal());
        else if (!frozen) to.write(chunk);
      });
      from.on('close', () => {
        sockets.delete(from);
        if (!frozen) to.destroy();
      });
      from.on('error', () => {});
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxied = new URL(url);
  proxied.port = String((server.address() as AddressInfo).port);
  return {
    url: proxied.toString(),
    freeze: () => void (frozen = true),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
