import { startTcpProxy, type TcpProxy, type TcpTarget } from '../../tools/tcp-proxy.js';
import type { Replica } from '../../world/replica.js';
import type { StartOptions, World } from '../../world/world.js';

/** The server of a database URL. */
export function serverOf(url: string): TcpTarget {
  const { hostname, port, protocol } = new URL(url);
  return { host: hostname, port: Number(port || (protocol.startsWith('postgres') ? 5432 : 3306)) };
}

/** A proxy in front of the scenario's server; it ends with the scenario. */
export async function openProxy(world: World): Promise<TcpProxy> {
  const proxy = await startTcpProxy(serverOf(world.database.url));
  world.atEnd(() => proxy.stop());
  return proxy;
}

/** A replica that reaches its database by a proxy of its own. */
export interface BehindProxy {
  readonly replica: Replica;
  readonly proxy: TcpProxy;
}

/** Starts one. */
export async function startBehindProxy(world: World, options: StartOptions = {}): Promise<BehindProxy> {
  const proxy = await openProxy(world);
  const databaseUrl = proxy.through(world.database.url);
  return { replica: await world.startReplica({ ...options, databaseUrl }), proxy };
}
