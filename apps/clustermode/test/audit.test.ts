import { describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { A2AError, RequestMalformedError, UnsupportedOperationError } from '@a2a-js/sdk/errors';
import type { A2ARequestHandler } from '@a2a-js/sdk/server';
import { captureConsole } from '../src/log.js';
import { createFixture, rpc, userMessage, v1, type Fixture } from './fixture.js';
import { keepLog, type KeptLog } from './log-lines.js';

const RPC = '/a2a/jsonrpc';
const REST = '/a2a/rest';
const TOKENS = 'tok-alice=alice,tok-bob=bob@acme';

interface Audited extends Fixture {
  readonly kept: KeptLog;
}

function serverWith(instead: Partial<A2ARequestHandler> = {}): Audited {
  const kept = keepLog();
  return { ...createFixture({ authTokens: TOKENS, instead, logger: kept.log }), kept };
}

const as = (token: string, more: Record<string, string> = v1): Record<string, string> => ({
  ...more,
  authorization: `Bearer ${token}`,
});

describe('the line about a refusal', () => {
  test('of a token says where from and where to, and not which', async () => {
    const { app, kept } = serverWith();
    await request(app).get(`${REST}/tasks?token=hunter2`).set(as('hunter2'));
    const [line] = await kept.audited(1);
    expect(line).toEqual({
      level: 'warn',
      time: expect.any(String),
      pid: process.pid,
      audit: true,
      msg: 'refused',
      requestId: expect.stringMatching(/^[\w-]{36}$/),
      remoteAddress: expect.stringMatching(/127\.0\.0\.1$/),
      method: 'GET',
      route: '/a2a/rest/tasks',
      status: 401,
      code: -32000,
      reason: 'UNAUTHENTICATED',
      detail: 'TOKEN_UNKNOWN',
    });
  });

  test('of a missing token says so', async () => {
    const { app, kept } = serverWith();
    await request(app)
      .post(RPC)
      .set(v1)
      .send(rpc('GetTask', { id: 't' }));
    expect(await kept.audited(1)).toMatchObject([{ detail: 'TOKEN_MISSING', method: 'POST', route: RPC }]);
  });

  test("of another's task names the task and who asked, over every transport", async () => {
    const { app, kept } = serverWith();
    const alice = request(app).post(RPC).set(as('tok-alice'));
    const { body } = await alice.send(rpc('SendMessage', { message: userMessage('ask what?') }));
    const { id } = body.result.task;
    await request(app).post(RPC).set(as('tok-bob')).send(rpc('GetTask', { id }));
    await request(app).post(RPC).set(as('tok-bob')).send(rpc('SubscribeToTask', { id }));
    await request(app).get(`${REST}/tasks/${id}`).set(as('tok-bob'));
    await request(app).get(`${REST}/v1/tasks/${id}`).set(as('tok-bob', {}));
    await request(app).post(RPC).set(as('tok-bob', {})).send(rpc('tasks/resubscribe', { id }));
    const lines = await kept.audited(5);
    const common = { reason: 'TASK_NOT_FOUND', user: 'bob', tenant: 'acme', taskId: id, level: 'info' };
    expect(lines).toMatchObject([
      { ...common, rpcMethod: 'GetTask', status: 200 },
      { ...common, rpcMethod: 'SubscribeToTask', status: 200 },
      { ...common, route: `${REST}/tasks/${id}`, status: 404 },
      { ...common, route: `${REST}/v1/tasks/${id}`, status: 404 },
      { ...common, rpcMethod: 'tasks/resubscribe', status: 200 },
    ]);
  });

  test('of a foreign tenant names the own one', async () => {
    const { app, kept } = serverWith();
    await request(app)
      .post(RPC)
      .set(as('tok-bob'))
      .send(rpc('GetTask', { id: 't', tenant: 'other' }));
    expect(await kept.audited(1)).toMatchObject([{ reason: 'TASK_NOT_FOUND', user: 'bob', tenant: 'acme' }]);
  });

  const refusals: readonly [string, A2AError][] = [
    ['TASK_BUSY', new UnsupportedOperationError({ metadata: { reason: 'TASK_BUSY', retryAfterMs: '5' } })],
    ['TOO_MANY_TURNS', new A2AError({ metadata: { reason: 'TOO_MANY_TURNS', retryAfterMs: '5' } })],
    ['REPLICA_DRAINING', new A2AError({ metadata: { reason: 'REPLICA_DRAINING' } })],
    [
      'WEBHOOK_ADDRESS_REFUSED',
      new RequestMalformedError({ metadata: { reason: 'WEBHOOK_ADDRESS_REFUSED' } }),
    ],
    ['UNSUPPORTED_OPERATION', new UnsupportedOperationError('No.')],
  ];
  test.each(refusals)('of a turn has the reason of its metadata: %s', async (reason, error) => {
    const { app, kept } = serverWith({ sendMessage: () => Promise.reject(error) });
    const params = { message: userMessage('done', { taskId: 't-1' }) };
    const legacy = { messageId: 'm', role: 'ROLE_USER', content: [{ text: 'done' }], taskId: 't-1' };
    await request(app).post(RPC).set(as('tok-alice')).send(rpc('SendMessage', params));
    await request(app).post(`${REST}/message:send`).set(as('tok-alice')).send(params);
    await request(app).post(`${REST}/v1/message:send`).set(as('tok-alice', {})).send({ message: legacy });
    const level = reason === 'WEBHOOK_ADDRESS_REFUSED' ? 'warn' : 'info';
    const line = { reason, level, taskId: 't-1', user: 'alice' };
    expect(await kept.audited(3)).toMatchObject([line, line, line]);
  });

  test('of what cannot be read has its reason', async () => {
    const { app, kept } = serverWith();
    const post = (path: string): request.Test =>
      request(app).post(path).set(as('tok-alice')).set('Content-Type', 'application/json');
    await post(RPC).send('{');
    await post(RPC).send(JSON.stringify(rpc('GetTask', { id: 5 })));
    await post(RPC).send(JSON.stringify(rpc('hunter2')));
    await post(`${REST}/message:send`).send('{"message":{}}');
    await post(`${REST}/message:send`).send(JSON.stringify({ text: 'x'.repeat(70_000) }));
    await post(RPC).send(JSON.stringify({ text: 'x'.repeat(70_000) }));
    await request(app).get(`${REST}/nowhere`).set(as('tok-alice'));
    await request(app)
      .post(RPC)
      .set(as('tok-alice', { 'A2A-Version': '9' }))
      .send(rpc('GetTask', { id: 't' }));
    const lines = await kept.audited(8);
    expect(lines.map(({ reason, status }) => [reason, status])).toEqual([
      ['INVALID_PARAMS', 200],
      ['INVALID_PARAMS', 200],
      ['INVALID_PARAMS', 200],
      ['INVALID_PARAMS', 400],
      ['REQUEST_TOO_LARGE', 413],
      ['REQUEST_TOO_LARGE', 413],
      ['ROUTE_NOT_FOUND', 404],
      ['VERSION_NOT_SUPPORTED', 200],
    ]);
    expect(lines.every(({ user }) => user === 'alice')).toBe(true);
    expect(lines[2]).not.toHaveProperty('rpcMethod');
  });

  test('is not written for what is answered, nor for a fault, which has its own', async () => {
    const fails = serverWith({ getTask: () => Promise.reject(new Error('no luck')) });
    await request(fails.app)
      .post(RPC)
      .set(as('tok-alice'))
      .send(rpc('GetTask', { id: 't' }));
    await request(fails.app).get(`${REST}/tasks/t`).set(as('tok-alice'));
    await request(fails.app).get(`${REST}/tasks`).set(as('tok-alice'));
    await request(fails.app).get('/livez');
    await request(fails.app).get(`${REST}/tasks`);
    expect(await fails.kept.audited(1)).toMatchObject([{ reason: 'UNAUTHENTICATED' }]);
    expect(fails.kept.lines().filter(({ level }) => level === 'error')).toHaveLength(2);
  });

  test('has no task id that no database could hold', async () => {
    const { app, kept } = serverWith();
    await request(app)
      .post(RPC)
      .set(as('tok-alice'))
      .send(rpc('GetTask', { id: 'x'.repeat(5_000) }));
    const [line] = await kept.audited(1);
    expect(line).not.toHaveProperty('taskId');
  });
});

describe('the id of a request', () => {
  test.each(['abc', 'A-1_b.c', 'x'.repeat(64)])('is that of the client: %s', async (id) => {
    const { app, kept } = serverWith();
    const answer = await request(app).get(`${REST}/tasks`).set('X-Request-Id', id);
    expect(answer.headers['x-request-id']).toBe(id);
    expect(await kept.audited(1)).toMatchObject([{ requestId: id }]);
  });

  test.each(['', 'a b', 'x'.repeat(65), '<script>', 'a/b'])('is a fresh one for %j', async (id) => {
    const { app } = serverWith();
    const answer = await request(app).get(`${REST}/tasks`).set('X-Request-Id', id);
    expect(answer.headers['x-request-id']).toMatch(/^[\da-f-]{36}$/);
  });

  test('comes with every answer', async () => {
    const { app } = serverWith();
    for (const path of ['/livez', '/.well-known/agent-card.json', '/nothing'])
      expect((await request(app).get(path)).headers['x-request-id']).toMatch(/^[\da-f-]{36}$/);
  });
});

describe('the whole log', () => {
  test('has no token of any request, wherever it was', async () => {
    const { app, kept } = serverWith();
    const before = { ...console };
    captureConsole(kept.log);
    try {
      const secret = 'hunter2.hunter2.hunter2';
      const post = (path: string, headers: Record<string, string>, body: object): request.Test =>
        request(app).post(path).set(headers).send(body);
      for (const token of [secret, 'tok-alice']) {
        const headers = as(token);
        const webhook = { url: 'http://x/', token: secret, authentication: { credentials: secret } };
        const message = userMessage(secret, { metadata: { authorization: secret }, taskId: 'gone' });
        await post(RPC, headers, { ...rpc('SendStreamingMessage', { message }), id: secret });
        await post(RPC, as(token, {}), { ...rpc(secret, {}), id: secret });
        await post(RPC, headers, rpc('CreateTaskPushNotificationConfig', { taskId: 't', ...webhook }));
        await post(RPC, headers, rpc('SendMessage', { message: { ...message, parts: [], token: secret } }));
        await post(`${REST}/acme/message:send`, headers, { tenant: secret, message });
        await post(RPC, { ...headers, 'A2A-Version': secret }, rpc('GetTask', { id: 't' }));
        await request(app).get(`${REST}/tasks/t?token=${secret}&access_token=${secret}`).set(headers);
        await request(app).get(`/nothing?token=${secret}`).set(headers);
        await post(RPC, headers, { jsonrpc: secret, token: secret });
      }
      expect((await kept.audited(18)).length).toBe(18);
      const all = JSON.stringify(kept.lines());
      expect(all).not.toMatch(/hunter2/);
      expect(all).not.toMatch(/tok-alice/);
    } finally {
      Object.assign(console, before);
    }
  });
});
