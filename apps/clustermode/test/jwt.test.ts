import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import request, { type Response } from 'supertest';
import { createSilentLogger } from '@a2a-cluster/core';
import { createJwtVerifier } from '../src/auth/jwt-verifier.js';
import { createFixture, rpc, userMessage, v1, type Fixture } from './fixture.js';
import { Issuer, type TokenOptions } from './issuer.js';
import { keepLog, type KeptLog } from './log-lines.js';

const RPC = '/a2a/jsonrpc';

async function call(server: Fixture, token: string, params: object = { id: 'none' }): Promise<Response> {
  const method = 'message' in params ? 'SendMessage' : 'GetTask';
  return request(server.app)
    .post(RPC)
    .set({ ...v1, authorization: `Bearer ${token}` })
    .send(rpc(method, params));
}

/** A new server, so that each test begins without keys and without lines. */
async function serverFor(issuer: Issuer, cooldownMs = 0): Promise<{ server: Fixture; kept: KeptLog }> {
  const kept = keepLog();
  const jwt = await issuer.verifier(kept.log, cooldownMs);
  return { server: createFixture({ authTokens: 'tok-a=alice', jwt, logger: kept.log }), kept };
}

describe('a JSON Web Token', () => {
  let issuer: Issuer;
  beforeAll(async () => {
    issuer = await Issuer.start();
  });
  afterAll(() => issuer.stop());

  test('names the user and the tenant, beside the tokens of the operator', async () => {
    const { server } = await serverFor(issuer);
    const alice = await issuer.token();
    const { body } = await call(server, alice, { message: userMessage('ask what?') });
    const { id } = body.result.task;
    expect((await call(server, 'tok-a', { id })).body.result.id).toBe(id);
    expect((await call(server, await issuer.token({ claims: { sub: 'bob' } }), { id })).body.error.code).toBe(
      -32001,
    );
    const acme = await issuer.token({ claims: { sub: 'alice', tenant: 'acme' } });
    expect((await call(server, acme, { id })).body.error.code).toBe(-32001);
    const theirs = (await call(server, acme, { message: userMessage('ask what?') })).body.result.task;
    expect((await call(server, acme, { id: theirs.id, tenant: 'acme' })).body.result.id).toBe(theirs.id);
  });

  test('may be a little late or early', async () => {
    const { server } = await serverFor(issuer);
    for (const options of [{ expiresIn: -20 }, { notBefore: 20 }])
      expect((await call(server, await issuer.token(options))).status).toBe(200);
  });

  const refused: readonly [string, TokenOptions, string][] = [
    ['expired', { expiresIn: -40 }, 'TOKEN_EXPIRED'],
    ['not valid yet', { notBefore: 60 }, 'CLAIM_REFUSED:nbf'],
    ['of another issuer', { issuer: 'https://evil.test/' }, 'CLAIM_REFUSED:iss'],
    ['for another audience', { audience: 'others' }, 'CLAIM_REFUSED:aud'],
    ['signed with an unknown key', { kid: 'nobody' }, 'KEY_UNKNOWN'],
    ['signed with another key of the same name', { forged: true }, 'SIGNATURE_WRONG'],
    ['without a user', { claims: { tenant: 'acme' } }, 'USER_MISSING'],
    ['with an empty user', { claims: { sub: '' } }, 'USER_MISSING'],
  ];
  test.each(refused)('is answered 401 when it is %s', async (_what, options, detail) => {
    const { server, kept } = await serverFor(issuer);
    const answer = await call(server, await issuer.token(options));
    expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'Bearer']);
    expect(answer.body.error.data[0].reason).toBe('UNAUTHENTICATED');
    expect(await kept.audited(1)).toMatchObject([{ reason: 'UNAUTHENTICATED', detail, level: 'warn' }]);
  });

  test.each([
    ['a user that cannot be stored', { sub: 'alice ' }, 'USER_UNUSABLE'],
    ['a user that is too long', { sub: 'x'.repeat(192) }, 'USER_UNUSABLE'],
    ['a tenant that cannot be stored', { sub: 'alice', tenant: 'ac\u0000me' }, 'TENANT_UNUSABLE'],
    ['a tenant that is no text', { sub: 'alice', tenant: ['acme'] }, 'TENANT_UNUSABLE'],
  ])('is answered 403 when it names %s', async (_what, claims, detail) => {
    const { server, kept } = await serverFor(issuer);
    const answer = await request(server.app)
      .get('/a2a/rest/tasks')
      .set({ ...v1, authorization: `Bearer ${await issuer.token({ claims })}` });
    expect(answer.status).toBe(403);
    expect(answer.body.error).toMatchObject({ code: 403, status: 'PERMISSION_DENIED' });
    expect(await kept.audited(1)).toMatchObject([{ reason: 'PERMISSION_DENIED', detail, level: 'warn' }]);
  });

  test('is refused without a signature, and with the public key as its secret', async () => {
    const { server, kept } = await serverFor(issuer);
    expect((await call(server, issuer.unsignedToken())).status).toBe(401);
    expect((await call(server, await issuer.confusedToken())).status).toBe(401);
    const [none, confused] = await kept.audited(2);
    expect(none).toMatchObject({ reason: 'UNAUTHENTICATED' });
    expect(confused).toMatchObject({ detail: 'ALGORITHM_REFUSED' });
  });

  test('must end some day', async () => {
    const { server, kept } = await serverFor(issuer);
    expect((await call(server, await issuer.endlessToken())).status).toBe(401);
    expect(await kept.audited(1)).toMatchObject([{ detail: 'CLAIM_REFUSED:exp' }]);
  });

  test('is not looked at when it is huge, and no key is fetched for it', async () => {
    const { server, kept } = await serverFor(issuer);
    const before = issuer.fetches;
    const huge = await issuer.token({ claims: { sub: 'alice', pad: 'x'.repeat(8_000) } });
    expect((await call(server, huge)).status).toBe(401);
    expect(await kept.audited(1)).toMatchObject([{ detail: 'TOKEN_TOO_LONG' }]);
    expect(issuer.fetches).toBe(before);
  });

  test('of a new key is taken once the keys were fetched again, that of an old one no more', async () => {
    const { server } = await serverFor(issuer);
    const old = await issuer.token();
    expect((await call(server, old)).status).toBe(200);
    await issuer.rotate();
    expect((await call(server, old)).status).toBe(200);
    expect((await call(server, await issuer.token())).status).toBe(200);
    expect((await call(server, old)).status).toBe(401);
  });

  test('of an unknown key causes no fetch during the cooldown', async () => {
    const { server } = await serverFor(issuer, 60_000);
    expect((await call(server, await issuer.token())).status).toBe(200);
    const before = issuer.fetches;
    for (let n = 0; n < 3; n += 1)
      expect((await call(server, await issuer.token({ kid: 'nobody' }))).status).toBe(401);
    expect(issuer.fetches).toBe(before);
  });
});

describe('without the keys', () => {
  test('a request is answered 503 in the form of its transport, and 200 when they are back', async () => {
    const issuer = await Issuer.start();
    const { server, kept } = await serverFor(issuer);
    const token = await issuer.token();
    issuer.status = 500;
    const answer = await call(server, token);
    expect(answer.status).toBe(503);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect(answer.body).toMatchObject({ jsonrpc: '2.0', error: { data: [{ reason: 'UNAVAILABLE' }] } });
    const rest = await request(server.app)
      .get('/a2a/rest/tasks')
      .set({ ...v1, authorization: `Bearer ${token}` });
    expect([rest.status, rest.body.error.status]).toEqual([503, 'UNAVAILABLE']);
    expect(await kept.audited(2)).toMatchObject([{ detail: 'KEYS_UNAVAILABLE' }, { reason: 'UNAVAILABLE' }]);
    expect(issuer.fetches).toBe(1);
    expect((await call(server, 'tok-a')).status).toBe(200);
    issuer.status = 200;
    await new Promise((resolve) => setTimeout(resolve, 1_050));
    expect((await call(server, token)).status).toBe(200);
    await issuer.stop();
  });

  test('a server that is not there is the same', async () => {
    const issuer = await Issuer.start();
    const { server, kept } = await serverFor(issuer);
    const token = await issuer.token();
    await issuer.stop();
    expect((await call(server, token)).status).toBe(503);
    expect(kept.lines().some((line) => String(line['reason']).includes('ECONNREFUSED'))).toBe(true);
  });
});

describe('keys in a file', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'jwks-test-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test('are read at the start', async () => {
    const issuer = await Issuer.start();
    const file = path.join(folder, 'keys.json');
    await writeFile(file, await (await fetch(issuer.jwksUrl)).text());
    const config = { ...issuer.config, jwksUrl: `file:${file}` };
    await issuer.stop();
    const jwt = await createJwtVerifier({ config, logger: createSilentLogger() });
    const server = createFixture({ jwt });
    expect((await call(server, await issuer.token())).status).toBe(200);
    expect((await call(server, await issuer.token({ forged: true }))).status).toBe(401);
    expect((await call(server, 'tok-a')).status).toBe(401);
  });

  test.each([
    ['is not there', 'gone.json', undefined],
    ['is no JSON', 'text.json', 'keys'],
    ['is no key set', 'object.json', '{}'],
  ])('keep the server from starting when the file %s', async (_what, name, text) => {
    const file = path.join(folder, name);
    if (text !== undefined) await writeFile(file, text);
    const config = { jwksUrl: `file:${file}`, issuer: 'i', audience: 'a', algorithms: ['ES256'] };
    const opened = createJwtVerifier({
      config: { ...config, userClaim: 'sub', tenantClaim: 'tenant' },
      logger: createSilentLogger(),
    });
    await expect(opened).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(/^AUTH_JWKS_URL/),
    });
  });
});
