import { createTestDatabase, type TestProvider } from '@a2a-cluster/testing';
import { missingMariadb, startPrivateMariadb } from '../../tools/private-mariadb.js';
import { missingPostgres, startPrivatePostgres } from '../../tools/private-postgres.js';
import type { World } from '../../world/world.js';

/** A server of the scenario's own. */
export interface OwnServer {
  stop(how?: 'fast' | 'immediate'): Promise<void>;
  /** Resolves when it answers. */
  start(): Promise<void>;
}

/** Which package is missing for one, or null. */
export function missingServer(provider: TestProvider): string | null {
  if (provider === 'sqlite') return null;
  const missing = provider === 'postgresql' ? missingPostgres() : missingMariadb();
  return missing === null ? null : `${missing} is missing`;
}

/** Starts a server that may be broken and moves the scenario's database there; it is removed with the scenario. */
export async function useOwnServer(world: World): Promise<OwnServer> {
  const { provider } = world;
  if (provider === 'sqlite') throw new Error('SQLite has no server');
  const server = await (provider === 'postgresql' ? startPrivatePostgres() : startPrivateMariadb());
  world.atEnd(() => server.remove());
  const { url } = await createTestDatabase({ provider, server: server.url() });
  await world.useDatabase(url);
  return server;
}
