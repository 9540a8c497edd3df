import { describe, expect, test } from '@jest/globals';
import request, { type Response } from 'supertest';
import { createFixture, rpc, userMessage, v1 } from './fixture.js';

const server = createFixture({ authTokens: 'tok-a=alice,tok-b==bob,tok-c=carol@acme' });
const RPC = '/a2a/jsonrpc';
const REST = '/a2a/rest';

async function asRpc(token: string, method: string, params: object): Promise<Response> {
  const headers = { ...v1, authorization: `Bearer ${token}` };
  return request(server.app).post(RPC).set(headers).send(rpc(method, params));
}

async function asRest(token: string, path: string): Promise<Response> {
  return request(server.app)
    .get(REST + path)
    .set({ ...v1, authorization: `Bearer ${token}` });
}

async function park(token: string, more: object = {}): Promise<string> {
  const { body } = await asRpc(token, 'SendMessage', { message: userMessage('ask what?'), ...more });
  return body.result.task.id;
}

describe('without a valid token', () => {
  test.each([
    undefined,
    'Bearer',
    'Bearer ',
    'Bearer nobody',
    'Bearer tok-a extra',
    'Bearer tok-A',
    'Basic dG9rLWE6',
    'tok-a',
  ])('JSON-RPC answers 401 and an error object: %j', async (authorization) => {
    const call = request(server.app).post(RPC).set(v1);
    if (authorization !== undefined) call.set({ authorization });
    const answer = await call.send(rpc('GetTask', { id: 'x' }));
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toBe('Bearer');
    expect(answer.body).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: expect.any(Number) } });
    expect(answer.body.error.data[0].reason).toBe('UNAUTHENTICATED');
  });

  test.each(['/a2a/rest/tasks', '/a2a/rest/message:send', '/metrics', '/console', '/nothing'])(
    'every other route answers 401 in the error form: %s',
    async (path) => {
      const answer = await request(server.app).get(path).set(v1);
      expect(answer.status).toBe(401);
      expect(answer.body.error).toMatchObject({ code: 401, status: 'UNAUTHENTICATED' });
      expect(answer.body.error.details[0].reason).toBe('UNAUTHENTICATED');
    },
  );

  test('the card and the health routes answer', async () => {
    expect((await request(server.app).get('/.well-known/agent-card.json')).status).toBe(200);
    expect((await request(server.app).get('/livez')).body).toEqual({ alive: true, pid: process.pid });
    const ready = await request(server.app).get('/readyz');
    expect([ready.status, ready.body.reasons, ready.body.pid]).toEqual([503, ['draining'], process.pid]);
  });

  test('the card says that a token is needed, to clients of either version', async () => {
    const { body } = await request(server.app).get('/.well-known/agent-card.json').set(v1);
    expect(body.securitySchemes.bearer.httpAuthSecurityScheme.scheme).toBe('Bearer');
    expect(body.supportedInterfaces.map((each: { protocolVersion: string }) => each.protocolVersion)).toEqual(
      ['1.0', '1.0', '0.3', '0.3'],
    );
    const old = await request(server.app).get('/.well-known/agent-card.json').set('A2A-Version', '0.3');
    expect(old.body.securitySchemes.bearer).toMatchObject({ type: 'http', scheme: 'Bearer' });
  });
});

describe('with a token', () => {
  test('a user acts under its name, and other users do not see its tasks', async () => {
    const id = await park('tok-a');
    expect((await asRpc('tok-a', 'GetTask', { id })).body.result.id).toBe(id);
    expect((await asRpc('tok-b=', 'GetTask', { id })).body.error.code).toBe(-32001);
    expect((await asRest('tok-b=', `/tasks/${id}`)).status).toBe(404);
  });

  test('a principal without a tenant has no other', async () => {
    const id = await park('tok-a');
    const answer = await asRpc('tok-a', 'GetTask', { id, tenant: 'acme' });
    expect(answer.body.error.code).toBe(-32001);
    expect((await asRest('tok-a', `/acme/tasks/${id}`)).status).toBe(404);
    expect((await asRest('tok-a', '/acme/tasks')).status).toBe(404);
  });

  test('a bound principal is in its tenant, named or not, and in no other', async () => {
    const id = await park('tok-c');
    for (const tenant of ['acme', '', undefined]) {
      expect((await asRpc('tok-c', 'GetTask', { id, tenant })).body.result.id).toBe(id);
    }
    expect((await asRpc('tok-c', 'GetTask', { id, tenant: 'other' })).body.error.code).toBe(-32001);
    expect((await asRest('tok-c', `/acme/tasks/${id}`)).body.id).toBe(id);
    expect((await asRest('tok-c', `/tasks/${id}`)).body.id).toBe(id);
    expect((await asRest('tok-c', `/other/tasks/${id}`)).status).toBe(404);
  });

  test('the tenant of a body counts as much as that of a path', async () => {
    const headers = { ...v1, authorization: 'Bearer tok-a' };
    const body = { tenant: 'acme', message: userMessage('done') };
    const answer = await request(server.app).post(`${REST}/message:send`).set(headers).send(body);
    expect(answer.status).toBe(404);
    const stream = await request(server.app).post(`${REST}/message:stream`).set(headers).send(body);
    expect(stream.status).toBe(404);
  });
});
