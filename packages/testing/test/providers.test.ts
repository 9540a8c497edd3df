import { afterEach, describe, expect, test } from '@jest/globals';
import { createServer, type AddressInfo } from 'node:net';
import { availableProviders } from '../src/index.js';

const names = ['TEST_POSTGRES_URL', 'TEST_MYSQL_URL', 'REQUIRE_DATABASES'] as const;
const before = names.map((name) => [name, process.env[name]] as const);

/** A port on which nobody listens: one that was free a moment ago. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function withoutServers(required: string): Promise<void> {
  const port = await closedPort();
  process.env['TEST_POSTGRES_URL'] = `postgresql://postgres@127.0.0.1:${port}/postgres`;
  process.env['TEST_MYSQL_URL'] = `mysql://root@127.0.0.1:${port}/mysql`;
  process.env['REQUIRE_DATABASES'] = required;
}

describe('availableProviders', () => {
  afterEach(() => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });

  test('without servers SQLite is left', async () => {
    await withoutServers('0');
    expect(availableProviders()).toEqual(['sqlite']);
  });

  test('with REQUIRE_DATABASES=1 a missing server is an error that names it', async () => {
    await withoutServers('1');
    expect(() => availableProviders()).toThrow(/no postgresql server answers at 127\.0\.0\.1:\d+/);
  });
});
