import { describe, expect, test } from '@jest/globals';
import request, { type Response } from 'supertest';
import { createFixture, userMessage, v1 } from './fixture.js';

const BASE = '/a2a/rest';
const server = createFixture();
type Method = 'get' | 'post' | 'put' | 'delete' | 'patch' | 'head' | 'options';

async function call(method: Method, path: string, body?: unknown): Promise<Response> {
  const agent = request(server.app);
  const sent = agent[method](BASE + path).set(v1);
  if (body === undefined) return sent;
  return sent.type('application/json').send(typeof body === 'string' ? body : JSON.stringify(body));
}

function expectProblem(answer: Response, status: number, reason: string): void {
  expect(answer.status).toBe(status);
  expect(answer.headers['content-type']).toMatch(/^application\/(a2a\+)?json/);
  const details = [
    { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'a2a-protocol.org' },
  ];
  expect(answer.body.error).toMatchObject({ code: status, status: expect.any(String), details });
  expect(answer.text).not.toMatch(/<html|node_modules| at .*\.(js|ts)/);
}

describe('a sound REST request', () => {
  test('reaches the agent, with and without a tenant in the path', async () => {
    for (const path of ['/message:send', '/acme/message:send']) {
      const answer = await call('post', path, { message: userMessage('done hello') });
      expect(answer.body.task.status.state).toBe('TASK_STATE_COMPLETED');
    }
  });

  test('may come as application/a2a+json and end in a slash', async () => {
    const sent = request(server.app).post(`${BASE}/message:send/`).set(v1).type('application/a2a+json');
    const answer = await sent.send(JSON.stringify({ message: userMessage('done') }));
    expect(answer.body.task.status.state).toBe('TASK_STATE_COMPLETED');
  });

  test('streams', async () => {
    const answer = await call('post', '/message:stream', { message: userMessage('tick 1 0; done') });
    expect(answer.headers['content-type']).toMatch(/^text\/event-stream/);
    expect(answer.text.match(/^data: /gm)).toHaveLength(3);
  });

  test('reads, lists and cancels', async () => {
    const { body } = await call('post', '/message:send', { message: userMessage('ask what?') });
    const { id } = body.task;
    expect((await call('get', `/tasks/${id}?historyLength=1`)).body.history).toHaveLength(1);
    const listed = await call('get', '/tasks?pageSize=5&includeArtifacts=true');
    expect(listed.body.tasks[0].id).toBe(id);
    expect((await call('post', `/tasks/${id}:cancel`)).body.status.state).toBe('TASK_STATE_CANCELED');
  });

  test('registers, reads and deletes a webhook', async () => {
    const { body } = await call('post', '/message:send', { message: userMessage('ask what?') });
    const path = `/tasks/${body.task.id}/pushNotificationConfigs`;
    const made = await call('post', path, { url: 'https://hook.test/' });
    expect(made.status).toBe(201);
    expect((await call('get', `${path}/${made.body.id}`)).body.url).toBe('https://hook.test/');
    expect((await call('delete', `${path}/${made.body.id}`)).status).toBe(204);
  });

  test('of A2A 0.3 reaches the agent below /v1', async () => {
    const message = { messageId: 'm-old', role: 'ROLE_USER', content: [{ text: 'done' }] };
    const answer = await request(server.app).post(`${BASE}/v1/message:send`).send({ message });
    expect(answer.status).toBe(201);
    expect(answer.body.task.status.state).toBe('TASK_STATE_COMPLETED');
  });
});

describe('a path or a method that is not there', () => {
  test.each<[Method, string]>([
    ['get', '/'],
    ['get', ''],
    ['get', '/nothing'],
    ['post', '/message:shout'],
    ['get', '/a/b/c/d'],
    ['get', '//tasks'],
    ['get', '/tasks/x/pushNotificationConfigs/y/z'],
  ])('gets 404 in the error form: %s %s', async (method, path) => {
    expectProblem(await call(method, path), 404, 'ROUTE_NOT_FOUND');
  });

  test.each<[Method, string, string]>([
    ['get', '/message:send', 'POST'],
    ['put', '/tasks', 'GET'],
    ['delete', '/tasks/x', 'GET'],
    ['patch', '/tasks/x:subscribe', 'GET, POST'],
    ['options', '/tasks/x:cancel', 'POST'],
    ['get', '/acme/message:stream', 'POST'],
  ])('gets 405 in the error form: %s %s', async (method, path, allow) => {
    const answer = await call(method, path);
    expectProblem(answer, 405, 'METHOD_NOT_ALLOWED');
    expect(answer.headers['allow']).toBe(allow);
  });

  test('gets 405 for HEAD, so that no stream is left open', async () => {
    expect((await call('head', '/tasks/x:subscribe')).status).toBe(405);
  });

  test('gets 404 in the error form outside the transports', async () => {
    for (const path of ['/', '/favicon.ico', '/a2a', '/a2a/restful', '/%ff']) {
      expectProblem(await request(server.app).get(path), 404, 'ROUTE_NOT_FOUND');
    }
    expectProblem(await request(server.app).post('/.well-known/agent-card.json'), 404, 'ROUTE_NOT_FOUND');
  });
});

describe('a REST request that is wrong', () => {
  test.each<[string, string]>([
    ['a broken escape in an id', '/tasks/%E0%A4%A'],
    ['a lone percent sign', '/tasks/100%'],
    ['a broken escape in a tenant', '/%ff/tasks'],
    ['a tenant with NUL', '/a%00b/tasks'],
    ['a tenant that ends in a space', '/acme%20/tasks'],
    ['a configuration id with NUL', '/tasks/x/pushNotificationConfigs/%00'],
    ['a negative history length', '/tasks/x?historyLength=-1'],
    ['a history length that is a word', '/tasks/x?historyLength=5abc'],
    ['a parameter given twice', '/tasks?contextId=a&contextId=b'],
    ['a context with NUL', '/tasks?contextId=%00'],
    ['a page size of zero', '/tasks?pageSize=0'],
    ['a page size with a fraction', '/tasks?pageSize=1.5'],
    ['an unknown status', '/tasks?status=TASK_STATE_HAPPY'],
    ['a flag that is neither true nor false', '/tasks?includeArtifacts=1'],
    ['a time that is none', '/tasks?statusTimestampAfter=yesterday'],
  ])('gets 400 in the error form: %s', async (_what, path) => {
    expectProblem(await call('get', path), 400, 'INVALID_PARAMS');
  });

  test.each<[string, unknown]>([
    ['broken JSON', '{"message":'],
    ['no body', undefined],
    ['an empty object', {}],
    ['a list', []],
    ['a string', '"hello"'],
    ['empty parts', { message: userMessage('x', { parts: [] }) }],
    ['an unknown role', { message: userMessage('x', { role: 'ROLE_KING' }) }],
    [
      'a webhook that is no URL',
      { message: userMessage('x'), configuration: { taskPushNotificationConfig: { url: 'x' } } },
    ],
  ])('gets 400 in the error form and stores nothing: %s', async (_what, body) => {
    const before = server.storedTasks();
    for (const path of ['/message:send', '/message:stream']) {
      expectProblem(await call('post', path, body), 400, 'INVALID_PARAMS');
    }
    expect(server.storedTasks()).toBe(before);
  });

  test('gets 400 for a webhook that is no URL', async () => {
    const { body } = await call('post', '/message:send', { message: userMessage('ask what?') });
    const path = `/tasks/${body.task.id}/pushNotificationConfigs`;
    for (const url of ['x', 'ftp://a.test/', '', 5, undefined]) {
      expectProblem(await call('post', path, { url }), 400, 'INVALID_PARAMS');
    }
  });

  test('gets 400 for a content type or a charset it cannot read', async () => {
    const body = JSON.stringify({ message: userMessage('done') });
    for (const type of ['text/plain', 'application/json; charset=klingon']) {
      const answer = await request(server.app).post(`${BASE}/message:send`).set(v1).type(type).send(body);
      expectProblem(answer, 400, 'CONTENT_TYPE_NOT_SUPPORTED');
    }
  });

  test('gets 413 above the body limit', async () => {
    const body = { message: userMessage('x'.repeat(70_000)) };
    expectProblem(await call('post', '/message:send', body), 413, 'REQUEST_TOO_LARGE');
  });

  test('gets 400 for a version nobody speaks', async () => {
    for (const version of ['2.0', '0.2', 'one']) {
      const answer = await request(server.app).get(`${BASE}/tasks/x`).set('A2A-Version', version);
      expectProblem(answer, 400, 'VERSION_NOT_SUPPORTED');
    }
  });

  test.each(['nope', '%00', '%2e%2e', 'x'.repeat(500), 'a%20', 'tasks%2fx'])(
    'gets 404 for a task that is not there: %s',
    async (id) => {
      expectProblem(await call('get', `/tasks/${id}`), 404, 'TASK_NOT_FOUND');
      expectProblem(await call('get', `/tasks/${id}:subscribe`), 404, 'TASK_NOT_FOUND');
      expectProblem(await call('post', `/tasks/${id}:cancel`), 404, 'TASK_NOT_FOUND');
    },
  );

  test('gets the form of A2A 0.3 on its paths', async () => {
    const bad = await request(server.app).post(`${BASE}/v1/message:send`).type('json').send('{');
    expect([bad.status, bad.body]).toEqual([400, { code: -32700, message: expect.any(String) }]);
    const empty = { messageId: 'm', role: 'ROLE_USER', content: [] };
    const answer = await request(server.app).post(`${BASE}/v1/message:send`).send({ message: empty });
    expect([answer.status, answer.body.code]).toEqual([400, -32602]);
  });
});
