import { describe, expect, test } from '@jest/globals';
import {
  connectFault,
  isRetriable,
  keepsConnection,
  statementFault,
} from '../src/errors/postgresql-faults.js';
import { parsePostgresUrl, sessionOptions } from '../src/postgresql/connection-config.js';
import { judgeFacts } from '../src/postgresql/facts.js';
import type { Facts } from '../src/postgresql/sql/facts.js';

const good: Facts = {
  ...{
    version_num: 150_002,
    version: '15.2',
    encoding: 'UTF8',
    time_zone: 'UTC',
    isolation: 'read committed',
  },
  ...{ in_recovery: false, read_only: false, schema: 'public', synchronous_commit: 'on', fsync: 'on' },
  ...{ full_page_writes: 'on', standbys: 0, synchronous_standbys: '', invalid_indexes: null },
  ...{ lock_timeout: '5s', statement_timeout: '10s', idle_timeout: '5s', has_ledger: true, has_tasks: true },
};

describe('a server', () => {
  test('that has all that is needed gives no warning', () => {
    expect(judgeFacts(good)).toEqual([]);
  });

  test.each<[string, Partial<Facts>, RegExp]>([
    ['is older than 12', { version_num: 110_022, version: '11.22' }, /11\.22.*12 or later/],
    ['is not in UTF-8', { encoding: 'SQL_ASCII' }, /SQL_ASCII.*UTF8/],
    ['is a standby', { in_recovery: true, read_only: true }, /standby/],
    ['is read-only', { read_only: true }, /read-only/],
    ['ignores the isolation level', { isolation: 'serializable' }, /serializable.*ALTER ROLE/],
    ['ignores the time zone', { time_zone: 'Europe/Berlin' }, /Europe\/Berlin.*ALTER ROLE/],
  ])('that %s is refused, and told why', (_, facts, message) => {
    const judge = (): unknown => judgeFacts({ ...good, ...facts });
    expect(judge).toThrow(expect.objectContaining({ code: 'DATABASE_UNSUITABLE' }));
    expect(judge).toThrow(message);
  });

  test.each<[Partial<Facts>, RegExp]>([
    [{ lock_timeout: '0' }, /lock_timeout.*ALTER ROLE/],
    [{ synchronous_commit: 'off' }, /crash of the server loses.*ALTER ROLE/],
    [{ fsync: 'off', full_page_writes: 'off' }, /fsync is off.*lose or corrupt/],
    [{ full_page_writes: 'off' }, /full_page_writes is off.*power loss/],
    [{ synchronous_standbys: 'b', synchronous_commit: 'local' }, /local.*failover/],
    [{ invalid_indexes: 'x_idx' }, /x_idx.*DROP INDEX CONCURRENTLY/],
    [{ standbys: 2 }, /^2 other server.*failover.*synchronous_standby_names/],
  ])('that works but worse gives a warning that names the risk and the way out: %j', (facts, text) => {
    expect(judgeFacts({ ...good, ...facts })).toEqual([expect.stringMatching(text)]);
  });

  test('whose standbys are waited for gives none', () => {
    expect(judgeFacts({ ...good, standbys: 2, synchronous_standbys: 'a, b' })).toEqual([]);
  });
});

const serverError = (code: string, severity = 'ERROR'): Error =>
  Object.assign(new Error('no'), { code, severity });
const faultOf = (cause: unknown, writes = true): string =>
  statementFault({ statement: 's', writes, cause }).code;

describe('an error of a write that was sent', () => {
  test.each(['40P01', '40001', '55P03', '57014', '23505', '22021', '42P01', '53100', 'XX000'])(
    'with SQLSTATE %s was rolled back, and the connection goes on',
    (code) => {
      expect(faultOf(serverError(code))).toBe('STORE_FAULT');
      expect(keepsConnection(serverError(code))).toBe(true);
    },
  );

  test.each([
    serverError('57P01', 'FATAL'),
    serverError('57P02', 'FATAL'),
    serverError('08006', 'FATAL'),
    serverError('40003'),
    serverError('53100', 'PANIC'),
    serverError('58030', 'PANIK'),
    new Error('Query read timeout'),
    new Error('Connection terminated unexpectedly'),
    Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }),
  ])('that leaves open whether it was stored is unknown, and a read just failed: %o', (cause) => {
    expect([faultOf(cause), faultOf(cause, false)]).toEqual(['UNKNOWN_OUTCOME', 'DATABASE_UNREACHABLE']);
    expect(keepsConnection(cause)).toBe(false);
    expect(isRetriable(cause)).toBe(false);
  });

  test('that never left, because the connection was known to be dead, is not unknown', () => {
    const cause = new Error('Client has encountered a connection error and is not queryable');
    expect(faultOf(cause)).toBe('DATABASE_UNREACHABLE');
  });

  test('is retried only where the server rolled back for a passing reason', () => {
    expect(['40P01', '40001', '55P03', '57014'].map((code) => isRetriable(serverError(code)))).toEqual(
      Array(4).fill(true),
    );
    expect(['23505', '40003', '57P01'].map((code) => isRetriable(serverError(code)))).toEqual(
      Array(3).fill(false),
    );
  });
});

test('a pool whose connections are all busy is a fault, not an unreachable server', () => {
  expect(connectFault('s', new Error('timeout exceeded when trying to connect')).code).toBe('STORE_FAULT');
  expect(connectFault('s', serverError('28P01', 'FATAL'))).toMatchObject({
    code: 'DATABASE_UNREACHABLE',
    details: { serverCode: '28P01' },
  });
});

test('session settings come after those of the URL, which cannot lift our limits', () => {
  const url = 'postgresql://u:p@h/d?schema=a%20b&options=-c%20geqo%3Doff&statement_timeout=0&sslmode=disable';
  const target = parsePostgresUrl(url);
  expect(target).toEqual({
    connectionString: 'postgresql://u:p@h/d?sslmode=disable',
    schema: 'a b',
    userOptions: '-c geqo=off',
  });
  const options = sessionOptions(target, { statementTimeoutMs: 1, lockTimeoutMs: 2, connectTimeoutMs: 3 });
  expect(options).toBe(
    String.raw`-c geqo=off -c default_transaction_isolation=read\ committed -c timezone=UTC -c search_path="a\ b" -c statement_timeout=1 -c lock_timeout=2 -c idle_in_transaction_session_timeout=2`,
  );
});
