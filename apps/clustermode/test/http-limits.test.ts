import { once } from 'node:events';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { listen, type HttpServer } from '../src/http-server.js';
import { DEFAULT_HTTP_LIMITS, type HttpLimits } from '../src/limits.js';
import { createFixture, rpc, userMessage } from './fixture.js';
import { chunkOf, openConnection, post, type RawAnswer, type RawConnection } from './socket.js';

const BODY_LIMIT = 64 * 1024;
const fixture = createFixture({ bodyLimit: BODY_LIMIT });
const servers: HttpServer[] = [];
const connections: RawConnection[] = [];

async function serverWith(limits: Partial<HttpLimits> = {}): Promise<HttpServer> {
  const server = await listen({ host: '127.0.0.1', port: 0, limits: { ...DEFAULT_HTTP_LIMITS, ...limits } });
  servers.push(server);
  server.serve(fixture.bare);
  return server;
}

async function connectTo(server: HttpServer): Promise<RawConnection> {
  const connection = await openConnection(server.port);
  connections.push(connection);
  return connection;
}

afterEach(async () => {
  for (const { socket } of connections.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) await server.close();
});

type Reason = 'REQUEST_TOO_LARGE' | 'INVALID_PARAMS' | 'REQUEST_TIMEOUT';

/** Every transport and version, and the form of its errors. */
const transports = [
  {
    name: 'JSON-RPC of 1.0',
    path: '/a2a/jsonrpc',
    version: '1.0',
    envelope: (message: object): object => rpc('SendMessage', { message }),
    form: (code: number, _status: number, reason: Reason): object => ({
      jsonrpc: '2.0',
      error: { code, data: [expect.objectContaining({ reason })] },
    }),
  },
  {
    name: 'JSON-RPC of 0.3',
    path: '/a2a/jsonrpc',
    version: '0.3',
    envelope: (message: object): object => rpc('message/send', { message }),
    form: (code: number): object => ({ jsonrpc: '2.0', error: { code } }),
  },
  {
    name: 'REST of 1.0',
    path: '/a2a/rest/message:send',
    version: '1.0',
    envelope: (message: object): object => ({ message }),
    form: (_code: number, status: number, reason: Reason): object => ({
      error: { code: status, details: [expect.objectContaining({ reason })] },
    }),
  },
  {
    name: 'REST of 0.3',
    path: '/a2a/rest/v1/message:send',
    version: '0.3',
    envelope: (message: object): object => ({ message }),
    form: (code: number): object => ({ code, message: expect.any(String) }),
  },
];

describe.each(transports)('a body that is too large, over $name', ({ path, version, form }) => {
  const headers = { 'A2A-Version': version };
  const big = JSON.stringify({ pad: 'x'.repeat(BODY_LIMIT) });

  function expectTooLarge(answer: RawAnswer): void {
    expect(answer.status).toBe(413);
    expect(answer.headers['content-type']).toMatch(/json/);
    expect(answer.body).toMatchObject(form(-32600, 413, 'REQUEST_TOO_LARGE'));
  }

  test('is refused with its length', async () => {
    const connection = await connectTo(await serverWith());
    connection.send(post(path, { ...headers, 'Content-Length': big.length }) + big);
    expectTooLarge(await connection.answer());
    // Nothing of it is left on its way, so the connection is as good as before.
    connection.send('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
    expect((await connection.answer()).status).toBe(200);
  });

  test('is refused at once when it is announced and nothing of it is sent', async () => {
    const connection = await connectTo(await serverWith());
    connection.send(post(path, { ...headers, 'Content-Length': 10 * 1024 ** 3 }));
    expectTooLarge(await connection.answer());
    // Long before the request would have taken too long.
    await connection.closed;
  }, 5_000);

  test('is refused in chunks without a length, as soon as it is too large and however long it goes on', async () => {
    const connection = await connectTo(await serverWith());
    connection.send(post(path, { ...headers, 'Transfer-Encoding': 'chunked' }));
    connection.send(chunkOf(`{"pad":"${'x'.repeat(BODY_LIMIT)}`));
    const more = setInterval(() => connection.send(chunkOf('x'.repeat(1_000))), 5);
    try {
      expectTooLarge(await connection.answer());
      await connection.closed;
    } finally {
      clearInterval(more);
    }
  }, 5_000);

  test('is refused when it is large only without its compression', async () => {
    const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024, ' '));
    expect(bomb.length).toBeLessThan(BODY_LIMIT);
    const connection = await connectTo(await serverWith());
    connection.send(post(path, { ...headers, 'Content-Encoding': 'gzip', 'Content-Length': bomb.length }));
    connection.send(bomb);
    expectTooLarge(await connection.answer());
  });
});

describe.each(transports)('JSON that is nested too deep, over $name', ({ path, version, envelope, form }) => {
  let server: HttpServer;
  const deepServer = createFixture({ bodyLimit: 2 * 1024 * 1024 });
  beforeAll(async () => {
    server = await listen({ host: '127.0.0.1', port: 0 });
    server.serve(deepServer.app);
  });
  afterAll(() => server.close());

  const objects = (levels: number): string => '{"a":'.repeat(levels) + '1' + '}'.repeat(levels);
  const lists = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
  const around = (field: string, deep: string): string =>
    JSON.stringify(envelope(userMessage('done', { [field]: 'HERE' }))).replace('"HERE"', deep);

  test.each([
    ['objects in the metadata', around('metadata', objects(100_000))],
    ['lists in a field that nobody knows', around('surprise', lists(100_000))],
    ['101 levels', around('surprise', lists(100))],
    ['lists beside what is asked', `{"more":${lists(300_000)},${around('x', '1').slice(1)}`],
  ])('is refused and brings nothing down: %s', async (_what, body) => {
    const before = deepServer.storedTasks();
    const connection = await connectTo(server);
    connection.send(post(path, { 'A2A-Version': version, 'Content-Length': body.length }) + body);
    const answer = await connection.answer();
    expect(answer.body).toMatchObject(form(-32602, 400, 'INVALID_PARAMS'));
    expect(deepServer.storedTasks()).toBe(before);
    const alive = await connectTo(server);
    alive.send('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
    expect((await alive.answer()).status).toBe(200);
  });
});

describe('a client that is slow', () => {
  test('to send its headers, a byte at a time, is cut off, and others are answered meanwhile', async () => {
    const server = await serverWith({ headersTimeoutMs: 400 });
    const slow = await Promise.all(Array.from({ length: 20 }, () => connectTo(server)));
    const head = post('/a2a/jsonrpc', { 'Content-Length': 2, 'X-Long': 'x'.repeat(500) });
    let sent = 0;
    const drip = setInterval(() => {
      for (const connection of slow) connection.send(head.slice(sent, sent + 1));
      sent += 1;
    }, 20);
    try {
      const other = await connectTo(server);
      other.send('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
      expect((await other.answer()).status).toBe(200);
      const answers = await Promise.all(slow.map((connection) => connection.answer()));
      for (const { status, headers, body } of answers) {
        expect([status, headers['connection']]).toEqual([408, 'close']);
        expect(body).toMatchObject({ error: { code: 408, details: [{ reason: 'REQUEST_TIMEOUT' }] } });
      }
      await Promise.all(slow.map(({ closed }) => closed));
    } finally {
      clearInterval(drip);
    }
    expect(sent).toBeLessThan(head.length / 2);
  }, 10_000);

  test.each(transports)('to send its body is told so over $name', async ({ path, version, form }) => {
    const server = await serverWith({ headersTimeoutMs: 400, requestTimeoutMs: 800 });
    const connection = await connectTo(server);
    connection.send(post(path, { 'A2A-Version': version, 'Content-Length': 1_000 }) + '{');
    const answer = await connection.answer();
    expect(answer.status).toBe(408);
    expect(answer.body).toMatchObject(form(-32600, 408, 'REQUEST_TIMEOUT'));
    await connection.closed;
  });

  test('to ask again loses its connection', async () => {
    const server = await serverWith({ keepAliveTimeoutMs: 100 });
    server.serve((_req, res) => res.end('{}'));
    const connection = await connectTo(server);
    connection.send('GET / HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n');
    await once(connection.socket, 'data');
    await connection.closed;
  }, 5_000);
});

describe('a client that takes too much', () => {
  test('of headers is told so', async () => {
    const connection = await connectTo(await serverWith({ maxHeaderBytes: 2_048 }));
    connection.send(post('/a2a/jsonrpc', { 'Content-Length': 2, 'X-Long': 'x'.repeat(3_000) }));
    const answer = await connection.answer();
    expect(answer.status).toBe(431);
    expect(answer.body).toMatchObject({ error: { code: 431, details: [{ reason: 'HEADERS_TOO_LARGE' }] } });
    await connection.closed;
  });

  test('of connections is refused, until one of them has ended', async () => {
    const server = await serverWith({ maxConnections: 2 });
    const [first] = [await connectTo(server), await connectTo(server)];
    const third = await connectTo(server);
    await third.closed;
    first?.socket.destroy();
    await first?.closed;
    const ask = async (): Promise<number> => {
      const next = await connectTo(server);
      next.send('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
      return (await next.answer().catch(() => ({ status: 0 }))).status;
    };
    // The server hears of the end of the first one when it gets to it.
    let status = 0;
    while (status !== 200) status = await ask();
  }, 5_000);

  test('of what is no HTTP gets an error it can read', async () => {
    const connection = await connectTo(await serverWith());
    connection.send('HELLO\r\n\r\n');
    const answer = await connection.answer();
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ error: { code: 400, details: [{ reason: 'BAD_REQUEST' }] } });
  });
});
