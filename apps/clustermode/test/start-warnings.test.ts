import { describe, expect, test } from '@jest/globals';
import { doorWarnings } from '../src/commands/door-warnings.js';
import { otherHosts, placeWarnings, warnAboutOtherHosts } from '../src/commands/place-warnings.js';
import { createDatabase } from '@a2a-cluster/db';
import { createTestDatabase } from '@a2a-cluster/testing';
import { loadConfig, type Config } from '../src/config.js';
import { keepLog } from './log-lines.js';

const STATS = {
  ...{ runningTurns: 0, heldLeases: 0, subscribers: 0, turnsStarted: 0, turnsEnded: 0, turnsParked: 0 },
  ...{ turnsRefused: 0, leasesLost: 0, turnsSwept: 0, pushDelivered: 0, pushFailed: 0, pushInFlight: 0 },
};

const GOOD = 'fT3xQ9vL2mZ8kR5w';

function configOf(env: Record<string, string>): Config {
  const { config, problems } = loadConfig({ env });
  if (config === undefined) throw new Error(problems.join());
  return config;
}

const doors = (env: Record<string, string>): string[] => doorWarnings(configOf(env)).map(({ text }) => text);

describe('the doors of a replica', () => {
  test('that are as they should be give no warning', () => {
    const env = { HOST: '0.0.0.0', PUBLIC_URL: 'https://agent.example', AUTH_TOKENS: `${GOOD}=alice` };
    expect(doors({ ...env, OPERATOR_TOKEN: `${GOOD}x` })).toEqual([]);
    expect(doors({})).toEqual([]);
    expect(doors({ PUBLIC_URL: 'http://localhost:8080', AUTH_TOKENS: 'a=alice' })).toEqual([]);
  });

  const open = { HOST: '0.0.0.0', PUBLIC_URL: 'https://agent.example' };
  test.each<[string, Record<string, string>, RegExp]>([
    [
      'the token of a user and of operators',
      { AUTH_TOKENS: `${GOOD}=alice`, OPERATOR_TOKEN: GOOD },
      /also a token/,
    ],
    [
      'one character again and again',
      { OPERATOR_TOKEN: 'aaaaaaaaaaaaaaaa' },
      /OPERATOR_TOKEN can be guessed/,
    ],
    ['an example that was kept', { OPERATOR_TOKEN: 'please-change-me-now' }, /OPERATOR_TOKEN can be guessed/],
    [
      'a short token on a public address',
      { ...open, AUTH_TOKENS: 'hunter2=alice' },
      /AUTH_TOKENS can be guessed/,
    ],
    ['http across a network', { PUBLIC_URL: 'http://agent.example' }, /in clear.*TLS/],
    ['a card that names localhost', { HOST: '0.0.0.0', AUTH_TOKENS: `${GOOD}=a` }, /PUBLIC_URL is not set/],
  ])('%s', (_, env, text) => {
    const warnings = doorWarnings(configOf(env));
    expect(warnings.map((warning) => warning.text)).toEqual([expect.stringMatching(text)]);
    for (const secret of [GOOD, 'hunter2', 'aaaaaaaa'])
      expect(JSON.stringify(warnings)).not.toContain(secret);
  });
});

describe('a pod of Kubernetes', () => {
  const pod = { KUBERNETES_SERVICE_HOST: '10.0.0.1' };
  const place = (env: Record<string, string>, environment: Record<string, string>): string[] =>
    placeWarnings(configOf(env), environment).map(({ text }) => text);

  test('whose drain is longer than the grace it has by default is told both', () => {
    expect(place({ DRAIN_TIMEOUT_MS: '60000' }, pod)).toEqual([
      expect.stringMatching(/65000 ms.*30000 ms.*terminationGracePeriodSeconds above 65/),
    ]);
  });

  test('with the default drain, and what runs elsewhere, is told nothing', () => {
    expect(place({}, pod)).toEqual([]);
    expect(place({ DRAIN_TIMEOUT_MS: '60000' }, {})).toEqual([]);
  });
});

describe('replicas on one SQLite file', () => {
  const replica = { replicaId: 'b-1', host: 'b', heartbeatMs: 5_000, beatAgeMs: 1_000 };

  test('of another host are named', () => {
    const warning = otherHosts({ provider: 'sqlite', host: 'a', replicas: [replica] });
    expect(warning?.text).toMatch(/^replicas on b use this SQLite file.*PostgreSQL/);
  });

  test('are read from the table at the start', async () => {
    const server = await createTestDatabase({ provider: 'sqlite' });
    const database = await createDatabase({ url: server.url, ttlMs: 15_000 });
    try {
      const { replicas } = database;
      const identity = { replicaId: 'far-1', version: '0.1.0', host: 'a host elsewhere', pid: 1 };
      await replicas.register({ ...identity, heartbeatMs: 60_000, phase: 'running', stats: STATS });
      const { log, lines } = keepLog();
      const operator = { replicas: { list: () => replicas.list() } };
      await warnAboutOtherHosts({ operator, databaseUrl: server.url, log });
      expect(lines()).toMatchObject([{ level: 'warn', hosts: ['a host elsewhere'] }]);
    } finally {
      await database.close();
      await server.drop();
    }
  });

  test.each([
    ['of this host', { provider: 'sqlite', host: 'b', replicas: [replica] }],
    ['that are gone', { provider: 'sqlite', host: 'a', replicas: [{ ...replica, beatAgeMs: 15_001 }] }],
    ['on a server', { provider: 'postgresql', host: 'a', replicas: [replica] }],
  ])('%s are not', (_, options) => {
    expect(otherHosts(options)).toBeNull();
  });
});
