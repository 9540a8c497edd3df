import { describe, expect, test } from '@jest/globals';
import { parseAuthTokens } from '../src/auth-tokens.js';
import { defaultPublicUrl, loadConfig, type Config, type SettingTexts } from '../src/config.js';
import { isLoopback } from '../src/loopback.js';
import { DEFAULT_BODY_LIMITS, DEFAULT_HTTP_LIMITS, HANDLER } from '../src/limits.js';
import { settingNames } from '../src/settings.js';

function good(env: SettingTexts, flags: SettingTexts = {}): Config {
  const result = loadConfig({ env, flags });
  if (result.problems !== undefined) throw new Error(result.problems.join('\n'));
  return result.config;
}

describe('the configuration', () => {
  test('has defaults for everything', () => {
    expect(good({})).toMatchObject({
      databaseUrl: 'file:./.data/cluster.db',
      host: '127.0.0.1',
      port: 41241,
      hints: 'auto',
      logLevel: 'info',
      push: expect.objectContaining({ allowPrivate: false, signing: undefined }),
      cardDefaultVersion: '1.0',
      limits: { body: DEFAULT_BODY_LIMITS, http: DEFAULT_HTTP_LIMITS },
      grants: undefined,
      leaseTtlMs: undefined,
      databasePoolSize: undefined,
    });
  });

  test('reads the size of the pool', () => {
    expect(good({ DATABASE_POOL_SIZE: '3' }).databasePoolSize).toBe(3);
  });

  test('takes an empty variable for one that is not set', () => {
    expect(good({ PORT: '', AUTH_TOKENS: '', HINTS: '' })).toMatchObject({ port: 41241, grants: undefined });
  });

  test('lets a flag win over the environment', () => {
    expect(good({ PORT: '1', LEASE_TTL_MS: 'junk' }, { PORT: '2', LEASE_TTL_MS: '900' })).toMatchObject({
      port: 2,
      leaseTtlMs: 900,
    });
  });

  test.each([
    ['65536', 65536],
    ['512kb', 512 * 1024],
    ['2MB', 2 * 1024 * 1024],
  ])('reads the size %s', (text, bytes) => expect(good({ BODY_LIMIT: text }).limits.body.bytes).toBe(bytes));

  test('reads every limit of the library by the name of its option', () => {
    const env = Object.fromEntries(Object.values(HANDLER).map((name, index) => [name, String(index + 1)]));
    const expected = Object.keys(HANDLER).map((option, index) => [option, index + 1]);
    expect(good(env).limits.handler).toEqual(Object.fromEntries(expected));
  });

  test('does not let headers take longer than the whole request', () => {
    expect(good({ REQUEST_TIMEOUT_MS: '9000' }).limits.http.headersTimeoutMs).toBe(9000);
    const env = { HEADERS_TIMEOUT_MS: '9001', REQUEST_TIMEOUT_MS: '9000' };
    expect(loadConfig({ env }).problems).toEqual([
      'HEADERS_TIMEOUT_MS must not be above REQUEST_TIMEOUT_MS, 9001 is above 9000',
    ]);
  });

  test('cuts the slash off the public address', () => {
    expect(good({ PUBLIC_URL: 'https://agents.test/a/' }).publicUrl).toBe('https://agents.test/a');
  });

  test('names every wrong variable at once', () => {
    const junk = Object.fromEntries(
      settingNames
        .filter((name) => !['HOST', 'AGENT_MODULE', 'REPLICA_ID', 'AUTH_TOKENS'].includes(name))
        .filter((name) => !/^(AUTH_JWT_(ISSUER|AUDIENCE|\w+_CLAIM)|OPERATOR_HOST)$/.test(name))
        .map((name) => [name, 'no such thing']),
    );
    const env = { ...junk, REPLICA_ID: 'a b', AUTH_TOKENS: 'nonsense,t=u,t=v' };
    const { problems = [] } = loadConfig({ env });
    const named = problems.map((problem) => problem.split(' ')[0]);
    const halves = ['AUTH_JWT_ISSUER', 'AUTH_JWT_AUDIENCE'];
    expect(new Set(named)).toEqual(new Set([...Object.keys(junk), 'REPLICA_ID', 'AUTH_TOKENS', ...halves]));
    expect(problems.filter((problem) => problem.startsWith('AUTH_TOKENS'))).toHaveLength(2);
  });

  test.each([
    ['PORT', '65536'],
    ['PORT', '1e3'],
    ['PORT', '-1'],
    ['LEASE_TTL_MS', '0'],
    ['LEASE_TTL_MS', '1.5'],
    ['LEASE_TTL_MS', '99999999999'],
    ['PUSH_ALLOW_PRIVATE', 'yes'],
    ['PUSH_ALLOW_PRIVATE', 'TRUE'],
    ['HINTS', 'shout'],
    ['BODY_LIMIT', '0'],
    ['BODY_LIMIT', '1tb'],
    ['PUBLIC_URL', 'agents.test'],
    ['PUBLIC_URL', 'https://agents.test/?a=b'],
    ['DATABASE_URL', 'redis://localhost'],
    ['REPLICA_ID', 'x'.repeat(200)],
    ['MAX_CONCURRENT_TURNS', '0'],
    ['DATABASE_POOL_SIZE', '0'],
    ['MAX_JSON_DEPTH', '1001'],
    ['MAX_MESSAGE_PARTS', '0'],
    ['MAX_EVENT_BYTES', 'huge'],
    ['MAX_STREAMS_PER_OWNER', '-1'],
    ['KEEP_ALIVE_TIMEOUT_MS', '0'],
  ])('refuses %s=%s', (name, value) => {
    expect(loadConfig({ env: { [name]: value } }).problems?.[0]).toMatch(new RegExp(`^${name} must `));
  });

  test('says which flag a wrong value came from', () => {
    const { problems } = loadConfig({ env: {}, flags: { LEASE_TTL_MS: 'x' } });
    expect(problems).toEqual([
      'LEASE_TTL_MS (--lease-ttl-ms) must be a whole number from 1 to 2147483647, not "x"',
    ]);
  });

  test('prints no secret', () => {
    const env = { DATABASE_URL: 'redis://u:hunter2@h', AUTH_TOKENS: 'hunter2 =bob,hunter3' };
    expect(JSON.stringify(loadConfig({ env }))).not.toMatch(/hunter/);
  });
});

describe('the settings of JWT', () => {
  const whole = {
    AUTH_JWKS_URL: 'https://issuer.test/keys',
    AUTH_JWT_ISSUER: 'https://issuer.test/',
    AUTH_JWT_AUDIENCE: 'agents',
  };

  test('have defaults for claims and algorithms', () => {
    expect(good(whole).jwt).toEqual({
      jwksUrl: 'https://issuer.test/keys',
      issuer: 'https://issuer.test/',
      audience: 'agents',
      userClaim: 'sub',
      tenantClaim: 'tenant',
      algorithms: ['RS256', 'PS256', 'ES256', 'EdDSA'],
    });
    const own = { AUTH_JWT_USER_CLAIM: 'email', AUTH_JWT_ALGORITHMS: 'ES256, EdDSA' };
    expect(good({ ...whole, ...own }).jwt).toMatchObject({
      userClaim: 'email',
      algorithms: ['ES256', 'EdDSA'],
    });
  });

  test.each(['AUTH_JWKS_URL', 'AUTH_JWT_ISSUER', 'AUTH_JWT_AUDIENCE'] as const)(
    'are refused without %s, which is named',
    (name) => {
      const { problems } = loadConfig({ env: { ...whole, [name]: '' } });
      expect(problems).toEqual([expect.stringMatching(new RegExp(`^${name} must be set when AUTH_JW`))]);
    },
  );

  test('are refused without the keys when only a claim is named', () => {
    const { problems } = loadConfig({ env: { AUTH_JWT_TENANT_CLAIM: 'org' } });
    expect(problems).toHaveLength(3);
  });

  test.each([
    'http://127.0.0.1:1/k',
    'http://localhost/k',
    'http://[::1]:9/k',
    'file:keys.json',
    'file:///k',
  ])('take keys from %s', (url) => expect(good({ ...whole, AUTH_JWKS_URL: url }).jwt?.jwksUrl).toBe(url));

  test.each([
    ['AUTH_JWKS_URL', 'http://issuer.test/keys'],
    ['AUTH_JWKS_URL', 'http://127.0.0.1.evil.test/keys'],
    ['AUTH_JWKS_URL', 'https://u:p@issuer.test/keys'],
    ['AUTH_JWKS_URL', 'file:'],
    ['AUTH_JWKS_URL', 'ftp://127.0.0.1/keys'],
    ['AUTH_JWT_ALGORITHMS', 'none'],
    ['AUTH_JWT_ALGORITHMS', 'RS256,HS256'],
    ['AUTH_JWT_ALGORITHMS', 'RS256,'],
  ])('refuse %s=%s', (name, value) => {
    const { problems } = loadConfig({ env: { ...whole, [name]: value } });
    expect(problems).toEqual([expect.stringMatching(new RegExp(`^${name} must be`))]);
  });

  test('refuse an empty flag, which would check nothing', () => {
    const { problems } = loadConfig({ env: whole, flags: { AUTH_JWT_ISSUER: '' } });
    expect(problems).toEqual([expect.stringMatching(/^AUTH_JWT_ISSUER .*must not be empty/)]);
  });
});

describe('the settings of the operator', () => {
  test('have a host of their own, of this machine unless it is set', () => {
    expect(good({}).operator).toEqual({ port: undefined, host: '127.0.0.1', token: undefined });
    const env = { OPERATOR_PORT: '9', OPERATOR_HOST: '0.0.0.0', OPERATOR_TOKEN: '0123456789abcdef' };
    expect(good(env).operator).toEqual({ port: 9, host: '0.0.0.0', token: '0123456789abcdef' });
    expect(good({ CONSOLE_TOKEN: 'fedcba9876543210' }).operator.consoleToken).toBe('fedcba9876543210');
  });

  test('are refused without saying the token', () => {
    const { problems } = loadConfig({
      env: { OPERATOR_HOST: '0.0.0.0', OPERATOR_TOKEN: 'hunter2', CONSOLE_TOKEN: 'hunter3' },
    });
    expect(problems).toEqual([
      expect.stringMatching(/^OPERATOR_TOKEN must be at least 16/),
      expect.stringMatching(/^CONSOLE_TOKEN must be at least 16/),
      'OPERATOR_PORT must be set when OPERATOR_HOST is',
    ]);
    expect(JSON.stringify(problems)).not.toMatch(/hunter/);
  });
});

describe('AUTH_TOKENS', () => {
  test('parts token, user and tenant at the last = and the last @', () => {
    expect(parseAuthTokens('abc=alice, dG9r==bob@acme,x=carol@mail.test@acme').grants).toEqual([
      { token: 'abc', user: 'alice' },
      { token: 'dG9r=', user: 'bob', tenant: 'acme' },
      { token: 'x', user: 'carol@mail.test', tenant: 'acme' },
    ]);
  });

  test.each([
    '',
    'alice',
    '=alice',
    'tok=',
    'tok=@acme',
    'tok=alice@',
    'tok=alice ',
    'tok=alice@acme ',
    'to ken=alice',
    'tok=ali\u0000ce',
    `tok=${'x'.repeat(192)}`,
    'a=alice,,b=bob',
    'a=alice,a=bob',
  ])('refuses %j', (text) => {
    expect(parseAuthTokens(text).problems).toHaveLength(1);
  });
});

describe('addresses', () => {
  test('are loopback or not', () => {
    expect(['127.0.0.1', '127.8.9.1', '::1', 'localhost'].every(isLoopback)).toBe(true);
    expect(['0.0.0.0', '::', '10.0.0.1', '127.0.0.1.evil.test', '128.0.0.1'].some(isLoopback)).toBe(false);
  });

  test('make the public address', () => {
    expect(defaultPublicUrl('0.0.0.0', 5)).toBe('http://localhost:5');
    expect(defaultPublicUrl('::1', 5)).toBe('http://[::1]:5');
    expect(defaultPublicUrl('10.1.2.3', 5)).toBe('http://10.1.2.3:5');
  });
});
