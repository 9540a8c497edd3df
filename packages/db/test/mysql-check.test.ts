import { afterEach, describe, expect, test } from '@jest/globals';
import { unsuitabilities, warningsOf, type ServerFacts } from '../src/mysql/server-facts.js';
import { SQL_MODE, lockSecondsOf, sessionSettings } from '../src/mysql/session-settings.js';
import { parseTarget } from '../src/mysql/target.js';
import { packStatements, sizeOf, statement } from '../src/mysql/texts.js';
import { MysqlBench, rejection } from './support/mysql.js';

const limits = { maxEventBytes: 1_048_576 };

describe('the start check', () => {
  let bench: MysqlBench;
  afterEach(() => bench.close());

  async function refusal(scripts: readonly string[] = []): Promise<Error & { code: string }> {
    for (const script of scripts) await bench.raw.run(script);
    const db = await bench.replica();
    return rejection(db.check(limits));
  }

  test('takes a database that is as it should be', async () => {
    bench = await MysqlBench.open();
    const db = await bench.replica();
    const { warnings } = await db.check(limits);
    expect(warnings.filter((warning) => !warning.includes('innodb_flush_log_at_trx_commit'))).toEqual([]);
  });

  test('refuses events that max_allowed_packet has no room for, and names both numbers', async () => {
    bench = await MysqlBench.open();
    const db = await bench.replica();
    const [row] = await bench.raw.query('SELECT @@max_allowed_packet AS bytes');
    const packet = Number(row?.['bytes']);
    const fault = await rejection(db.check({ maxEventBytes: packet / 2 }));
    expect(fault).toMatchObject({ code: 'DATABASE_UNSUITABLE' });
    expect(fault.message).toContain(`max_allowed_packet is ${packet} bytes`);
    expect(fault.message).toContain(`events of ${packet / 2} bytes`);
  });

  test('refuses an empty database as behind, and says how to deploy', async () => {
    bench = await MysqlBench.open({ migrated: false });
    const fault = await refusal();
    expect(fault).toMatchObject({ code: 'SCHEMA_BEHIND' });
    expect(fault.message).toContain('migrate deploy');
  });

  test('refuses a database with migrations missing, and names them', async () => {
    bench = await MysqlBench.open({ upTo: 3 });
    const fault = await refusal();
    expect(fault).toMatchObject({ code: 'SCHEMA_BEHIND' });
    expect(fault.message).toContain('task_leases');
  });

  test("refuses the SDK's own store: a table of our name that no migration made", async () => {
    bench = await MysqlBench.open({ migrated: false });
    expect(await refusal(['CREATE TABLE tasks (id INT PRIMARY KEY)'])).toMatchObject({
      code: 'SCHEMA_FOREIGN',
    });
  });

  test("refuses another application's migrations", async () => {
    bench = await MysqlBench.open();
    const rename = `UPDATE _prisma_migrations SET migration_name = CONCAT('2020', SUBSTR(migration_name, 5))`;
    expect(await refusal([rename])).toMatchObject({ code: 'SCHEMA_FOREIGN' });
  });

  test('warns of migrations that a newer version has deployed', async () => {
    bench = await MysqlBench.open();
    await bench.raw.run(`INSERT INTO _prisma_migrations (id, checksum, finished_at, migration_name)
      VALUES ('x', 'y', NOW(3), '29990101000000_later')`);
    const db = await bench.replica();
    const { warnings } = await db.check(limits);
    expect(warnings.join()).toContain('29990101000000_later');
  });

  test('refuses a table that is not of InnoDB', async () => {
    bench = await MysqlBench.open();
    const fault = await refusal(['ALTER TABLE task_events ENGINE = MyISAM']);
    expect(fault).toMatchObject({ code: 'DATABASE_UNSUITABLE' });
    expect(fault.message).toContain('MyISAM');
  });

  test('refuses an id column that does not compare byte for byte', async () => {
    bench = await MysqlBench.open();
    const fault = await refusal([
      'ALTER TABLE task_leases MODIFY holder VARCHAR(191) COLLATE utf8mb4_general_ci NOT NULL',
    ]);
    expect(fault).toMatchObject({ code: 'DATABASE_UNSUITABLE' });
    expect(fault.message).toContain('task_leases.holder');
  });
});

describe('a session', () => {
  test('of MariaDB is limited by a third of the TTL, and by the statement limit', () => {
    const settings = sessionSettings({
      isMariaDb: true,
      limits: { statementMs: 4_000, connectMs: 1, lockSeconds: lockSecondsOf(9_000) },
    }).join();
    for (const setting of [
      'innodb_lock_wait_timeout = 3',
      'net_read_timeout = 3',
      'idle_transaction_timeout = 3',
    ])
      expect(settings).toContain(setting);
    expect(settings).toContain('max_statement_time = 4');
  });

  test('of MySQL is limited by what MySQL has', () => {
    const settings = sessionSettings({
      isMariaDb: false,
      limits: { statementMs: 4_000, connectMs: 1, lockSeconds: 5 },
    }).join();
    expect(settings).toContain('wait_timeout = 5');
    expect(settings).toContain('max_execution_time = 4000');
    expect(settings).not.toContain('idle_transaction_timeout');
    expect(settings).not.toContain('max_statement_time');
  });

  test.each([
    [15_000, 5],
    [2_000, 1],
    [100, 1],
  ])('with a TTL of %i ms waits %i s for locks', (ttlMs, seconds) => {
    expect(lockSecondsOf(ttlMs)).toBe(seconds);
  });
});

describe('the facts of a server', () => {
  const good: ServerFacts = {
    isMariaDb: true,
    serverVersion: '10.11.0-MariaDB',
    variables: {
      autocommit: 'ON',
      character_set_client: 'utf8mb4',
      innodb_flush_log_at_trx_commit: '1',
      log_bin: 'OFF',
      max_allowed_packet: '16777216',
      read_only: 'OFF',
      sql_mode: SQL_MODE,
      time_zone: '+00:00',
      tx_isolation: 'READ-COMMITTED',
    },
    offsetSeconds: 0,
    sysdateAheadUs: 20_000,
  };
  const withVariables = (variables: Record<string, string>): ServerFacts => ({
    ...good,
    variables: { ...good.variables, ...variables },
  });

  test('that are good raise nothing', () => {
    expect(unsuitabilities(good, limits)).toEqual([]);
    expect(warningsOf(good)).toEqual([]);
    const { tx_isolation: isolation = '', ...rest } = good.variables;
    expect(
      unsuitabilities({ ...good, variables: { ...rest, transaction_isolation: isolation } }, limits),
    ).toEqual([]);
  });

  test.each<[string, ServerFacts, RegExp]>([
    ['another isolation level', withVariables({ tx_isolation: 'REPEATABLE-READ' }), /isolation level/],
    ['another time zone', withVariables({ time_zone: 'SYSTEM' }), /time zone is SYSTEM/],
    ['a clock that is not UTC', { ...good, offsetSeconds: 3_600 }, /3600 s from UTC/],
    ['a SYSDATE that stands still', { ...good, sysdateAheadUs: 0 }, /--sysdate-is-now/],
    ['a lax sql_mode', withVariables({ sql_mode: 'NO_ENGINE_SUBSTITUTION' }), /sql_mode/],
    [
      'backslashes that do not escape',
      withVariables({ sql_mode: `${SQL_MODE},NO_BACKSLASH_ESCAPES` }),
      /sql_mode/,
    ],
    ['another character set', withVariables({ character_set_client: 'latin1' }), /latin1/],
    ['a small packet', withVariables({ max_allowed_packet: '1048576' }), /max_allowed_packet is 1048576/],
    ['a read-only server', withVariables({ read_only: 'ON' }), /read-only/],
    [
      'statements in the binlog',
      withVariables({ log_bin: 'ON', binlog_format: 'STATEMENT' }),
      /binlog_format/,
    ],
    ['no autocommit', withVariables({ autocommit: 'OFF' }), /autocommit/],
  ])('with %s are refused', (_, facts, complaint) => {
    expect(unsuitabilities(facts, limits)).toEqual([expect.stringMatching(complaint)]);
  });

  test('of lazy flushing or of Galera are warned of', () => {
    const facts = withVariables({ innodb_flush_log_at_trx_commit: '2', wsrep_on: 'ON' });
    expect(unsuitabilities(facts, limits)).toEqual([]);
    expect(warningsOf(facts)).toHaveLength(2);
  });
});

describe('texts', () => {
  test('count what escaping adds', () => {
    const plain = sizeOf(statement('x', 'aaaa'));
    expect(sizeOf(statement('x', `"'\\\0`))).toBe(plain + 4);
    expect(sizeOf(statement('x', '\u00e9\u00e9'))).toBe(plain);
    expect(sizeOf(statement('x', ['aa', 'aa']))).toBeGreaterThanOrEqual(plain);
  });

  test('are cut where the next statement would be too much, in order', () => {
    const statements = ['a', 'b', 'c'].map((name) => statement(`SET @${name} = ?`, name.repeat(3_000)));
    const texts = packStatements(statements, 9_000);
    expect(texts.map(({ values }) => values.map((value) => String(value)[0]))).toEqual([['a', 'b'], ['c']]);
    expect(texts[0]?.sql).toBe('SET @a = ?;\nSET @b = ?');
  });
});

describe('a database URL', () => {
  test('gives host, credentials and database, decoded', () => {
    expect(parseTarget('mariadb://u%40x:p%2Fw@db.example:3307/my%20db?connection_limit=5')).toEqual({
      host: 'db.example',
      port: 3307,
      user: 'u@x',
      password: 'p/w',
      database: 'my db',
      socketPath: null,
      tls: 'off',
    });
    expect(parseTarget('mysql://root@[::1]/db')).toMatchObject({ host: '::1', port: 3306, password: '' });
  });

  test.each([
    ['?ssl=true', 'verify'],
    ['?sslaccept=strict', 'verify'],
    ['?sslaccept=accept_invalid_certs', 'accept-any'],
  ])('with %s asks for TLS: %s', (query, tls) => {
    expect(parseTarget(`mysql://root@h/db${query}`).tls).toBe(tls);
  });

  test('without a database is refused', () => {
    expect(() => parseTarget('mysql://root:s3cret@h/')).toThrow(/names no database/);
  });
});
