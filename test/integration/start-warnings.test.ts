import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { createDatabase } from '@a2a-cluster/db';
import {
  availableProviders,
  createTestDatabase,
  hasTools,
  openRaw,
  type TestDatabase,
} from '@a2a-cluster/testing';
import { missingPgBouncer, startPgBouncer } from '../faults/src/tools/pgbouncer.js';
import { missingMariadb, startPrivateMariadb } from '../faults/src/tools/private-mariadb.js';
import { missingPostgres, startPrivatePostgres } from '../faults/src/tools/private-postgres.js';
import { startReplica } from './support/replica-process.js';

jest.setTimeout(120_000);

/** What a replica would be told of a database at its start. */
async function warningsOf(url: string): Promise<readonly string[]> {
  const database = await createDatabase({ url, ttlMs: 15_000 });
  try {
    return (await database.check({ maxEventBytes: 1_048_576 })).warnings;
  } finally {
    await database.close();
  }
}

const has = (provider: 'postgresql' | 'mysql'): boolean => availableProviders().includes(provider);

(has('postgresql') ? describe : describe.skip)('PostgreSQL whose commits may be lost', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase({ provider: 'postgresql' });
  });
  afterAll(() => database.drop());

  test.each([
    ['off', /synchronous_commit is off.*crash of the server loses.*ALTER ROLE/],
    ['on', null],
  ] as const)('synchronous_commit=%s', async (value, text) => {
    const raw = await openRaw(database.url);
    const name = new URL(database.url).pathname.slice(1);
    await raw.run(`ALTER DATABASE ${name} SET synchronous_commit = ${value}`);
    await raw.close();
    const warnings = await warningsOf(database.url);
    expect(warnings).toEqual(text === null ? [] : [expect.stringMatching(text)]);
  });
});

(has('postgresql') ? test : test.skip)('an index whose build failed is told by its name', async () => {
  const database = await createTestDatabase({ provider: 'postgresql' });
  try {
    const raw = await openRaw(database.url);
    for (const id of ['a', 'b'])
      await raw.run(`INSERT INTO tasks (id, tenant, owner, context_id, state, version)
        VALUES ('${id}', '', 'o', 'c', 'TASK_STATE_WORKING', 1)`);
    const build = raw.run('CREATE UNIQUE INDEX CONCURRENTLY broken_idx ON tasks (owner)');
    await expect(build).rejects.toThrow(/could not create unique index/);
    expect(await warningsOf(database.url)).toEqual([
      expect.stringMatching(/invalid: broken_idx.*DROP INDEX/),
    ]);
    await raw.run('DROP INDEX CONCURRENTLY broken_idx');
    await raw.close();
    expect(await warningsOf(database.url)).toEqual([]);
  } finally {
    await database.drop();
  }
});

const postgres = hasTools({ tests: 'warnings of a private PostgreSQL', missing: missingPostgres() });
(postgres ? describe : describe.skip)('a server of its own', () => {
  test('without fsync and full_page_writes, and with a standby nobody waits for, is told each', async () => {
    const server = await startPrivatePostgres({ settings: { full_page_writes: 'off' } });
    try {
      const { url } = await createTestDatabase({ provider: 'postgresql', server: server.url() });
      expect(await warningsOf(url)).toEqual([expect.stringMatching(/^fsync is off/)]);
      const standby = await server.standby();
      await standby.caughtUp();
      expect(await warningsOf(url)).toEqual([
        expect.stringMatching(/^fsync is off/),
        expect.stringMatching(/^1 other server.*failover/),
      ]);
    } finally {
      await server.remove();
    }
  });
});

const mariadb = hasTools({ tests: 'warnings of a private MariaDB', missing: missingMariadb() });
(mariadb ? describe : describe.skip)('MariaDB', () => {
  test('whose log is not flushed at every commit is told, with what may be lost and the way out', async () => {
    const server = await startPrivateMariadb({ settings: { 'innodb-doublewrite': 'OFF' } });
    try {
      const { url } = await createTestDatabase({ provider: 'mysql', server: server.url() });
      expect(await warningsOf(url)).toEqual([
        expect.stringMatching(/innodb_flush_log_at_trx_commit is 2.*machine stops.*SET GLOBAL/),
        expect.stringMatching(/innodb_doublewrite is OFF/),
      ]);
      await server.set('SET GLOBAL innodb_flush_log_at_trx_commit = 0');
      expect((await warningsOf(url))[0]).toMatch(/is 0.*the server or its machine stops/);
    } finally {
      await server.remove();
    }
  });
});

const pooler = hasTools({ tests: 'LISTEN behind a pooler', missing: missingPgBouncer() });
(pooler && has('postgresql') ? describe : describe.skip)('LISTEN behind PgBouncer', () => {
  test.each([
    ['transaction', /no hints between replicas.*NOTIFY to itself never came.*session mode/],
    ['session', null],
  ] as const)('in %s mode', async (poolMode, text) => {
    const database = await createTestDatabase({ provider: 'postgresql' });
    // Before the pooler opens its connections: those that are open keep what they began with.
    const raw = await openRaw(database.url);
    const name = new URL(database.url).pathname.slice(1);
    for (const setting of ['lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout'])
      await raw.run(`ALTER DATABASE ${name} SET ${setting} = '5s'`);
    await raw.run(`ALTER DATABASE ${name} SET timezone = 'UTC'`);
    await raw.close();
    const settings = { ignore_startup_parameters: 'options,extra_float_digits' };
    const bouncer = await startPgBouncer({ url: database.url, poolMode, settings });
    try {
      const warnings = await warningsOf(bouncer.url);
      expect(warnings).toEqual(text === null ? [] : [expect.stringMatching(text)]);
    } finally {
      await bouncer.remove();
      await database.drop();
    }
  });
});

describe('a replica that starts', () => {
  test('says what its settings leave open, and no token', async () => {
    const database = await createTestDatabase({ provider: 'sqlite' });
    const token = 'aaaaaaaaaaaaaaaaaaaa';
    const replica = await startReplica({
      databaseUrl: database.url,
      env: {
        AUTH_TOKENS: `${token}=alice`,
        OPERATOR_TOKEN: token,
        PUBLIC_URL: 'http://agent.example',
        KUBERNETES_SERVICE_HOST: '10.0.0.1',
        DRAIN_TIMEOUT_MS: '60000',
      },
    });
    const said = replica.logs.filter(({ level }) => level === 'warn').map(({ msg }) => msg);
    await replica.end();
    await database.drop();
    expect(said).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/OPERATOR_TOKEN is also a token/),
        expect.stringMatching(/OPERATOR_TOKEN can be guessed/),
        expect.stringMatching(/PUBLIC_URL is http/),
        expect.stringMatching(/terminationGracePeriodSeconds above 65/),
      ]),
    );
    expect(JSON.stringify(replica.logs)).not.toContain(token);
  });
});
