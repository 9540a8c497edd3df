import { describe, expect, test } from '@jest/globals';
import request, { type Response } from 'supertest';
import { createFixture, rpc, userMessage, v1 } from './fixture.js';

const PATH = '/a2a/jsonrpc';
const server = createFixture();

async function send(body: unknown, headers: object = v1): Promise<Response> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return request(server.app)
    .post(PATH)
    .set({ 'content-type': 'application/json', ...headers })
    .send(text);
}

function message(change: object): object {
  return rpc('SendMessage', { message: { ...userMessage('done'), ...change } });
}

describe('a sound JSON-RPC request', () => {
  test('reaches the agent', async () => {
    const { body } = await send(rpc('SendMessage', { message: userMessage('done hello') }));
    expect(body).toMatchObject({
      jsonrpc: '2.0',
      id: 7,
      result: { task: { status: { state: 'TASK_STATE_COMPLETED' } } },
    });
  });

  test('may spell fields in snake_case, set none by null, and carry fields nobody knows', async () => {
    const sent = userMessage('done', { context_id: 'c-9', taskId: null, surprise: { deep: [1] } });
    const { body } = await send(rpc('SendMessage', { message: sent, configuration: null, more: 1 }));
    expect(body.result.task).toMatchObject({ contextId: 'c-9', status: { state: 'TASK_STATE_COMPLETED' } });
  });

  test('may carry parts of every kind', async () => {
    const parts = [
      { text: 'done' },
      { raw: 'aGk=' },
      { url: 'https://a.test/x' },
      { data: [1, { a: false }] },
    ];
    const { body } = await send(message({ parts }));
    expect(body.result.task.history[0].parts).toEqual(parts);
  });

  test('is larger than what the SDK reads by itself', async () => {
    const large = createFixture({ bodyLimit: 1024 * 1024 });
    const body = rpc('SendMessage', {
      message: userMessage('done', { metadata: { pad: 'x'.repeat(300_000) } }),
    });
    const answer = await request(large.app).post(PATH).set(v1).send(body);
    expect(answer.body.result.task.status.state).toBe('TASK_STATE_COMPLETED');
  });

  test('of A2A 0.3 reaches the agent on the same route', async () => {
    const sent = {
      kind: 'message',
      messageId: 'm-old',
      role: 'user',
      parts: [{ kind: 'text', text: 'done old' }],
    };
    for (const headers of [{}, { 'A2A-Version': '0.3' }]) {
      const { body } = await send(rpc('message/send', { message: sent }), headers);
      expect(body).toMatchObject({ id: 7, result: { kind: 'task', status: { state: 'completed' } } });
    }
  });
});

describe('a request that is no JSON-RPC request', () => {
  test.each<[string, unknown, number]>([
    ['broken JSON', '{"jsonrpc":', -32700],
    ['a bare string', '"hello"', -32600],
    ['null', 'null', -32600],
    ['an empty body', '', -32600],
    ['a batch', [rpc('GetTask', { id: 'x' })], -32600],
    ['another version', { ...rpc('GetTask', { id: 'x' }), jsonrpc: '1.0' }, -32600],
    ['no version', { id: 7, method: 'GetTask' }, -32600],
    ['no method', { jsonrpc: '2.0', id: 7 }, -32600],
    ['a method that is a number', { ...rpc('GetTask'), method: 5 }, -32600],
    ['an id that is an object', { ...rpc('GetTask'), id: {} }, -32600],
    ['an id that is true', { ...rpc('GetTask'), id: true }, -32600],
    ['an id with a fraction', { ...rpc('GetTask'), id: 1.5 }, -32600],
    ['an unknown method', rpc('DropTables', {}), -32601],
    ['a method named like a property of every object', rpc('constructor', {}), -32601],
    ['no parameters', rpc('SendMessage'), -32602],
    ['parameters that are an array', rpc('GetTask', ['x']), -32602],
    ['parameters that are a string', rpc('GetTask', 'x'), -32602],
  ])('gets an error object: %s', async (_what, body, code) => {
    const answer = await send(body);
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    expect(answer.body).toMatchObject({ jsonrpc: '2.0', error: { code, message: expect.any(String) } });
    const readable = typeof body === 'object' && !Array.isArray(body) && (body as { id?: unknown }).id === 7;
    expect(answer.body.id).toBe(readable ? 7 : null);
  });

  test.each([
    ['text/plain', -32005],
    ['application/xml', -32005],
    ['application/json; charset=klingon', -32005],
    ['', -32005],
  ])('gets an error object for the content type %j', async (type, code) => {
    const call = request(server.app).post(PATH).set(v1);
    const body = Buffer.from(JSON.stringify(rpc('GetTask', { id: 'x' })));
    const answer = await (type === '' ? call.unset('content-type') : call.type(type)).send(body);
    expect(answer.body).toMatchObject({ jsonrpc: '2.0', id: null, error: { code } });
  });

  test('gets an error object for an unknown content encoding', async () => {
    const answer = await send(rpc('GetTask', { id: 'x' }), { ...v1, 'content-encoding': 'rot13' });
    expect(answer.body).toMatchObject({ id: null, error: { code: -32005 } });
  });

  test('gets 413 and an error object above the body limit', async () => {
    const answer = await send(message({ metadata: { pad: 'x'.repeat(70_000) } }));
    expect(answer.status).toBe(413);
    expect(answer.body).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32600 } });
  });

  test.each(['get', 'put', 'delete', 'patch', 'head', 'options'] as const)(
    'gets 405 for %s',
    async (method) => {
      const answer = await request(server.app)[method](PATH);
      expect(answer.status).toBe(405);
      expect(answer.headers['allow']).toBe('POST');
      if (method !== 'head') expect(answer.body).toMatchObject({ jsonrpc: '2.0', error: { code: -32600 } });
    },
  );

  test('gets 404 and an error object below the route', async () => {
    const answer = await request(server.app)
      .post(`${PATH}/more`)
      .set(v1)
      .send(rpc('GetTask', { id: 'x' }));
    expect(answer.status).toBe(404);
    expect(answer.body).toMatchObject({ jsonrpc: '2.0', error: { code: -32601 } });
  });
});

describe('parameters that are wrong', () => {
  const push = (change: object): object => ({ url: 'https://hook.test/', ...change });
  const config = (change: object): object =>
    rpc('SendMessage', { message: userMessage('done'), configuration: change });

  test.each<[string, object]>([
    ['no message', rpc('SendMessage', {})],
    ['a message that is a string', rpc('SendMessage', { message: 'hi' })],
    ['no message id', message({ messageId: undefined })],
    ['an empty message id', message({ messageId: '' })],
    ['a message id that is a number', message({ messageId: 5 })],
    ['a message id with NUL', message({ messageId: 'a\u0000b' })],
    ['a message id of 200 bytes', message({ messageId: 'x'.repeat(200) })],
    ['a context id with NUL', message({ contextId: 'a\u0000b' })],
    ['no role', message({ role: undefined })],
    ['an unknown role', message({ role: 'ROLE_KING' })],
    ['the role of 0.3', message({ role: 'user' })],
    ['the unspecified role', message({ role: 'ROLE_UNSPECIFIED' })],
    ['no parts', message({ parts: undefined })],
    ['empty parts', message({ parts: [] })],
    ['parts that are an object', message({ parts: { text: 'x' } })],
    ['a part without content', message({ parts: [{}] })],
    ['a part that is null', message({ parts: [null] })],
    ['a part of two contents', message({ parts: [{ text: 'x', url: 'https://a.test' }] })],
    ['a text that is a number', message({ parts: [{ text: 5 }] })],
    ['bytes that are no base64', message({ parts: [{ raw: 'a b' }] })],
    ['a part with a broken URL', message({ parts: [{ url: 'not a url' }] })],
    ['metadata that is a list', message({ metadata: [] })],
    ['extensions that are a string', message({ extensions: 'x' })],
    ['a negative history length', config({ historyLength: -1 })],
    ['a history length with a fraction', config({ historyLength: 1.5 })],
    ['a flag that is a string', config({ returnImmediately: 'yes' })],
    ['a webhook without URL', config({ taskPushNotificationConfig: {} })],
    ['a webhook of another scheme', config({ taskPushNotificationConfig: push({ url: 'ftp://a.test' }) })],
    ['a webhook that is no URL', config({ taskPushNotificationConfig: push({ url: 'nowhere' }) })],
    ['a token with a line break', config({ taskPushNotificationConfig: push({ token: 'a\r\nX: y' }) })],
    [
      'credentials with a line break',
      config({
        taskPushNotificationConfig: push({ authentication: { scheme: 'Bearer', credentials: 'a\nb' } }),
      }),
    ],
    ['a tenant that ends in a space', rpc('GetTask', { id: 'x', tenant: 'a ' })],
    ['a tenant that is a number', rpc('GetTask', { id: 'x', tenant: 5 })],
    ['a task id that is an object', rpc('GetTask', { id: {} })],
    ['an empty task id', rpc('GetTask', { id: '' })],
    ['a page size that is a word', rpc('ListTasks', { pageSize: 'many' })],
    ['an unknown status', rpc('ListTasks', { status: 'TASK_STATE_HAPPY' })],
    ['a created webhook without URL', rpc('CreateTaskPushNotificationConfig', { taskId: 'x' })],
    ['JSON nested a thousand levels deep', message({ metadata: nested(1000) })],
  ])('are refused with -32602 and nothing is stored: %s', async (_what, body) => {
    const before = server.storedTasks();
    const answer = await send(body);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ jsonrpc: '2.0', id: 7, error: { code: -32602 } });
    expect(answer.body.error.data[0]).toMatchObject({ reason: 'INVALID_PARAMS', domain: 'a2a-protocol.org' });
    expect(JSON.stringify(answer.body)).not.toMatch(/ at .*\.(js|ts)/);
    expect(server.storedTasks()).toBe(before);
  });

  test('nested too deep for a stack are refused too', async () => {
    const deep = '{"a":'.repeat(9_000) + '1' + '}'.repeat(9_000);
    const text = JSON.stringify(message({ metadata: 'HERE' })).replace('"HERE"', deep);
    expect((await send(text)).body).toMatchObject({ id: 7, error: { code: -32602 } });
  });

  test.each<[string, object]>([
    ['an unknown role', { role: 'king' }],
    ['empty parts', { parts: [] }],
    ['a part of no kind', { parts: [{ text: 'x' }] }],
    ['a text part without text', { parts: [{ kind: 'text' }] }],
    ['a file part without a file', { parts: [{ kind: 'file' }] }],
    ['a file part without content', { parts: [{ kind: 'file', file: {} }] }],
    ['a message id that is a number', { messageId: 5 }],
  ])('of A2A 0.3 are refused with -32602: %s', async (_what, change) => {
    const sound = { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'done' }] };
    const { body } = await send(rpc('message/send', { message: { ...sound, ...change } }), {});
    expect(body).toMatchObject({ jsonrpc: '2.0', id: 7, error: { code: -32602 } });
  });
});

describe('versions and ids', () => {
  test.each(['2.0', '0.2', 'one'])('a version nobody speaks gets -32009: %s', async (version) => {
    const answer = await send(rpc('GetTask', { id: 'x' }), { 'A2A-Version': version });
    expect(answer.body).toMatchObject({ id: 7, error: { code: -32009 } });
  });

  test.each(['nope', 'a\u0000b', 'x'.repeat(500), '../..', 'é '])(
    'a task that is not there gets -32001: %j',
    async (id) => {
      expect((await send(rpc('GetTask', { id }))).body).toMatchObject({ id: 7, error: { code: -32001 } });
    },
  );
});

function nested(levels: number): object {
  let value: object = {};
  for (let i = 0; i < levels; i += 1) value = { value };
  return value;
}
