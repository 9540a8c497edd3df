import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { availableProviders } from '@a2a-cluster/testing';
import { startCluster, type TestCluster } from './support/cluster-of.js';
import { Rows } from './support/rows.js';

/** A request that is wrong, and the HTTP statuses it may be answered with. */
interface Wrong {
  readonly name: string;
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly statuses: readonly number[];
}

const json = { 'content-type': 'application/json', 'a2a-version': '1.0' };
const rpc = (method: string, params: unknown): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
const message = (more: object): object => ({
  messageId: 'm',
  role: 'ROLE_USER',
  parts: [{ text: 'done' }],
  ...more,
});
const viaRpc = (name: string, body: string, headers: Record<string, string> = json): Wrong => ({
  name: `${name}, over JSON-RPC`,
  path: '/a2a/jsonrpc',
  headers,
  body,
  statuses: [200, 400, 404, 405, 413, 415],
});
const viaRest = (
  name: string,
  path: string,
  body?: string,
  method = body === undefined ? 'GET' : 'POST',
): Wrong => ({
  name: `${name}, over REST`,
  path: `/a2a/rest${path}`,
  method,
  headers: json,
  ...(body === undefined ? {} : { body }),
  statuses: [400, 404, 405, 413, 415],
});

const wrong: readonly Wrong[] = [
  viaRpc('broken JSON', '{"jsonrpc":"2.0",'),
  viaRpc('an unknown method', rpc('NoSuchMethod', {})),
  viaRpc('a wrong content type', rpc('ListTasks', {}), {
    'content-type': 'text/plain',
    'a2a-version': '1.0',
  }),
  viaRpc('an unknown version', rpc('ListTasks', {}), { ...json, 'a2a-version': '9.9' }),
  viaRpc(
    'a body over the limit',
    rpc('SendMessage', { message: message({ parts: [{ text: 'x'.repeat(2_000_000) }] }) }),
  ),
  viaRpc('a wrong type', rpc('SendMessage', { message: message({ parts: 'text' }) })),
  viaRpc('a wrong type of id', rpc('GetTask', { id: 5 })),
  viaRpc('no parts', rpc('SendMessage', { message: message({ parts: [] }) })),
  viaRpc('an empty part', rpc('SendMessage', { message: message({ parts: [{}] }) })),
  viaRpc('an unknown role', rpc('SendMessage', { message: message({ role: 'ROLE_KING' }) })),
  viaRpc('no message', rpc('SendMessage', {})),
  viaRpc('NUL in an id', rpc('GetTask', { id: 'a\u0000b' })),
  viaRpc('half a character in an id', rpc('GetTask', { id: '\ud800' })),
  viaRpc('NUL in a context', rpc('SendMessage', { message: message({ contextId: 'a\u0000b' }) })),
  viaRpc(
    'an over-long message id',
    rpc('SendMessage', { message: message({ messageId: 'm'.repeat(5_000) }) }),
  ),
  viaRpc('a page token that is none', rpc('ListTasks', { pageToken: '\u0000', pageSize: -1 })),
  viaRest('broken JSON', '/message:send', '{"message":'),
  viaRest(
    'a body over the limit',
    '/message:send',
    JSON.stringify({ message: message({ parts: [{ text: 'x'.repeat(2_000_000) }] }) }),
  ),
  viaRest('no parts', '/message:send', JSON.stringify({ message: message({ parts: [] }) })),
  viaRest('an unknown role', '/message:stream', JSON.stringify({ message: message({ role: 7.5 }) })),
  viaRest('an unknown route', '/no/such/route'),
  viaRest('an unknown verb', '/tasks/x:explode', '{}'),
  viaRest('a wrong method', '/message:send', undefined, 'GET'),
  viaRest('a broken escape', '/tasks/%zz'),
  viaRest('NUL in a path', '/tasks/%00'),
  viaRest('half a character in a path', '/tasks/%ed%a0%80'),
  viaRest('an over-long id', `/tasks/${'x'.repeat(4_000)}`),
  viaRest('a page size that is none', '/tasks?pageSize=many'),
];

describe.each(availableProviders())('a malformed request, on %s', (provider) => {
  let cluster: TestCluster;
  let rows: Rows;

  beforeAll(async () => {
    cluster = await startCluster({ provider, count: 2 });
    rows = await Rows.open(cluster.database.url);
  });
  afterAll(async () => {
    await rows.close();
    await cluster.end();
  });

  test.each(wrong.map((each) => [each.name, each] as const))(
    "gets A2A's form of error and stores nothing: %s",
    async (_name, request) => {
      for (const { base } of cluster.replicas) {
        const answer = await fetch(base + request.path, {
          method: request.method ?? 'POST',
          ...(request.headers ? { headers: request.headers } : {}),
          ...(request.body === undefined ? {} : { body: request.body }),
          signal: AbortSignal.timeout(5_000),
        });
        const text = await answer.text();
        expect(request.statuses).toContain(answer.status);
        expect(answer.headers.get('content-type')).toMatch(/json/);
        expect(text).not.toMatch(/<html|node_modules|\n\s+at /i);
        const { error } = JSON.parse(text) as { error?: { code?: number; message?: string } };
        expect(error).toMatchObject({ code: expect.any(Number), message: expect.any(String) });
        expect(error?.code).not.toBe(-32603);
      }
      expect(await rows.count('tasks')).toBe(0);
      expect(await rows.count('task_events')).toBe(0);
    },
  );

  test('leaves the replicas well: the next sound one is answered', async () => {
    for (const { client } of cluster.replicas) {
      expect((await client.send({ text: 'done' })).result?.task?.status.state).toBe('TASK_STATE_COMPLETED');
    }
  });
});
