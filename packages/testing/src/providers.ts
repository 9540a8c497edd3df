import { spawnSync } from 'node:child_process';

/** The three databases; MariaDB counts as `mysql`. */
export type TestProvider = 'sqlite' | 'postgresql' | 'mysql';

const defaults = {
  postgresql: 'postgresql://postgres@127.0.0.1:5432/postgres',
  mysql: 'mysql://root@127.0.0.1:3306/mysql',
} as const;

/**
 * The server on which test databases of a provider are made: `TEST_POSTGRES_URL` or `TEST_MYSQL_URL`, else the
 * usual port on 127.0.0.1. The user must be allowed to create databases.
 */
export function serverUrl(provider: 'postgresql' | 'mysql'): string {
  const name = provider === 'postgresql' ? 'TEST_POSTGRES_URL' : 'TEST_MYSQL_URL';
  return process.env[name] ?? defaults[provider];
}

/** Exits 0 if the port is open. A process of its own, because test files need the answer while they are being read. */
const probe = `const [host, port] = process.argv.slice(1);
const socket = require('node:net').connect({ host, port: Number(port), timeout: 2000 });
socket.once('connect', () => process.exit(0));
for (const bad of ['error', 'timeout']) socket.once(bad, () => process.exit(1));`;

function answers(provider: 'postgresql' | 'mysql'): boolean {
  const url = new URL(serverUrl(provider));
  const port = url.port || (provider === 'postgresql' ? '5432' : '3306');
  return spawnSync(process.execPath, ['-e', probe, url.hostname, port], { timeout: 5_000 }).status === 0;
}

/**
 * The databases on which tests run here: SQLite always, the servers where their port answers within 2 s. For the top
 * of a test file: `describe.each(availableProviders())('... on %s', (provider) => ...)`.
 * A server that does not answer is told on standard error, in one line; with `REQUIRE_DATABASES=1` it is an error
 * instead, so that a build never passes by testing less.
 */
export function availableProviders(): TestProvider[] {
  const found: TestProvider[] = ['sqlite'];
  for (const provider of ['postgresql', 'mysql'] as const) {
    if (answers(provider)) {
      found.push(provider);
      continue;
    }
    const { host } = new URL(serverUrl(provider));
    if (process.env['REQUIRE_DATABASES'] === '1') throw new Error(`no ${provider} server answers at ${host}`);
    process.stderr.write(`skipped: tests on ${provider}, no server answers at ${host}\n`);
  }
  return found;
}
