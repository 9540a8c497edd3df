import { afterEach, describe, expect, test } from '@jest/globals';
import type { Cluster } from '@a2a-cluster/cluster';
import { createSilentLogger } from '@a2a-cluster/core';
import { createTestDatabase, type TestDatabase } from '@a2a-cluster/testing';
import { createDemoAgent } from '../src/agent/demo-agent.js';
import { createApp } from '../src/app.js';
import { createAuthentication } from '../src/auth.js';
import { composeCluster } from '../src/compose.js';
import { loadConfig } from '../src/config.js';
import { listen } from '../src/http-server.js';
import { rpc, userMessage } from './fixture.js';

interface Replica {
  readonly cluster: Cluster;
  readonly url: string;
}

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** A replica with its settings, and the users `alice` and `bob` unless it is told otherwise. */
async function replicaWith(env: Record<string, string>): Promise<Replica> {
  const database: TestDatabase = await createTestDatabase({ provider: 'sqlite' });
  ends.push(() => database.drop());
  const all = { AUTH_TOKENS: 'alice=alice,bob=bob', ...env, DATABASE_URL: database.url, PORT: '0' };
  const { config, problems } = loadConfig({ env: all });
  if (problems !== undefined) throw new Error(problems.join('\n'));
  const logger = createSilentLogger();
  const server = await listen({ host: '127.0.0.1', port: 0, limits: config.limits.http });
  ends.push(() => server.close());
  const agent = { executor: createDemoAgent() };
  const cluster = await composeCluster({ config, agent, logger, port: server.port });
  ends.push(() => cluster.close({ drainTimeoutMs: 1 }));
  server.serve(
    createApp({
      requestHandler: cluster.requestHandler,
      authentication: createAuthentication({ grants: config.grants }),
      bodyLimits: config.limits.body,
      health: () => ({ ...cluster.status() }),
      logger,
      streaming: cluster.streaming(),
    }),
  );
  await cluster.start();
  return { cluster, url: `http://127.0.0.1:${server.port}` };
}

/** Everything that a request could have left behind: a message raises the version of its task. */
async function traces({ cluster }: Replica): Promise<unknown> {
  const leases = (await cluster.operator.leases()).map(({ taskId, epoch, pending }) => [
    taskId,
    epoch,
    pending,
  ]);
  const { tasks } = await cluster.operator.tasks.find();
  return { tasks: tasks.map(({ taskId, state, version }) => [taskId, state, version]), leases };
}

interface Call {
  readonly path: string;
  readonly body?: object;
  readonly method?: string;
  readonly user?: string;
  readonly version?: string;
  readonly signal?: AbortSignal;
}

function ask({ url }: Replica, call: Call): Promise<Response> {
  const { path, body, method = 'POST', user = 'alice', version = '1.0', signal } = call;
  return fetch(url + path, {
    method,
    headers: { 'content-type': 'application/json', 'a2a-version': version, authorization: `Bearer ${user}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** A message over both transports, streamed or not. */
function waysOf(message: object): Call[] {
  return [
    { path: '/a2a/jsonrpc', body: rpc('SendMessage', { message }) },
    { path: '/a2a/jsonrpc', body: rpc('SendStreamingMessage', { message }) },
    { path: '/a2a/rest/message:send', body: { message } },
    { path: '/a2a/rest/message:stream', body: { message } },
  ];
}

interface Expected {
  readonly rpcCode: number;
  readonly restStatus: number;
  readonly metadata: object;
  readonly retryAfter?: string;
}

async function expectRefused(replica: Replica, calls: readonly Call[], expected: Expected): Promise<void> {
  const before = await traces(replica);
  const running = replica.cluster.requestHandler.runningTurns;
  for (const call of calls) {
    const isRest = call.path.startsWith('/a2a/rest');
    const answer = await ask(replica, call);
    const body = (await answer.json()) as { error: object };
    expect(answer.status).toBe(isRest ? expected.restStatus : 200);
    expect(answer.headers.get('retry-after')).toBe(expected.retryAfter ?? null);
    const info = [{ '@type': expect.any(String), metadata: expected.metadata }];
    expect(body.error).toMatchObject(
      isRest ? { code: expected.restStatus, details: info } : { code: expected.rpcCode, data: info },
    );
  }
  expect(await traces(replica)).toEqual(before);
  expect(replica.cluster.requestHandler.runningTurns).toBe(running);
}

async function start(replica: Replica, call: Partial<Call> & { readonly text: string }): Promise<string> {
  const { text, ...rest } = call;
  const body = { message: userMessage(text), configuration: { returnImmediately: true } };
  const answer = await ask(replica, { path: '/a2a/rest/message:send', body, ...rest });
  return ((await answer.json()) as { task: { id: string } }).task.id;
}

/** Opens a stream and reads its first event; the function ends it. */
async function openStream(replica: Replica, call: Call): Promise<() => void> {
  const leaving = new AbortController();
  const answer = await ask(replica, { ...call, signal: leaving.signal });
  expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/);
  await answer.body?.getReader().read();
  const leave = (): void => leaving.abort();
  ends.push(() => Promise.resolve(leave()));
  return leave;
}

function nested(levels: number): object {
  let value: object = {};
  for (let level = 1; level < levels; level += 1) value = { value };
  return value;
}

describe('a message over its limits is refused over every transport, and nothing is stored', () => {
  const malformed = { rpcCode: -32602, restStatus: 400 };

  test('with too many parts', async () => {
    const replica = await replicaWith({ MAX_MESSAGE_PARTS: '2' });
    const parts = [{ text: 'done' }, { text: 'a' }, { text: 'b' }];
    const metadata = { reason: 'TOO_MANY_PARTS', limit: '2' };
    await expectRefused(replica, waysOf(userMessage('', { parts })), { ...malformed, metadata });
    const [call] = waysOf(userMessage('', { parts: parts.slice(1) }));
    expect((await (await ask(replica, call!)).json()) as object).toHaveProperty('result');
  });

  test.each<[string, object]>([
    ['the message', { metadata: nested(5) }],
    ['a part', { parts: [{ text: 'done', metadata: nested(5) }] }],
    ['a part of data', { parts: [{ data: nested(5) }] }],
  ])('with metadata nested too deep: %s', async (_what, more) => {
    const replica = await replicaWith({ MAX_METADATA_DEPTH: '4' });
    const metadata = { reason: 'NESTED_TOO_DEEP', limit: '4' };
    await expectRefused(replica, waysOf(userMessage('done', more)), { ...malformed, metadata });
  });

  test('to a task that has had as many as it takes', async () => {
    const replica = await replicaWith({ MAX_TASK_MESSAGES: '2' });
    const taskId = await start(replica, { text: 'ask first' });
    const again = waysOf(userMessage('ask second', { taskId }))[0]!;
    expect((await (await ask(replica, again)).json()) as object).toHaveProperty('result');
    const metadata = { reason: 'TOO_MANY_MESSAGES', limit: '2' };
    const expected = { rpcCode: -32004, restStatus: 400, metadata };
    await expectRefused(replica, waysOf(userMessage('third', { taskId })), expected);
  });
});

describe('turns and streams over their limits are refused before anything is stored', () => {
  const refused = { rpcCode: -32603, retryAfter: '5' };
  const owner = { ...refused, restStatus: 429 };
  const whole = { ...refused, restStatus: 503 };
  const turns = { reason: 'TOO_MANY_TURNS', retryAfterMs: '5000' };
  const streams = { reason: 'TOO_MANY_STREAMS', retryAfterMs: '5000' };
  const streaming = (message: object): Call[] => waysOf(message).filter((_, index) => index % 2 === 1);
  const watching = (id: string, more: object = {}): Call[] => [
    { path: '/a2a/jsonrpc', body: rpc('SubscribeToTask', { id }), ...more },
    { path: `/a2a/rest/tasks/${id}:subscribe`, method: 'GET', ...more },
  ];

  test('one user has as many turns as a user may', async () => {
    const replica = await replicaWith({ MAX_TURNS_PER_OWNER: '1' });
    await start(replica, { text: 'sleep 60000' });
    const metadata = { ...turns, scope: 'owner' };
    await expectRefused(replica, waysOf(userMessage('done')), { ...owner, metadata });
    await start(replica, { text: 'sleep 60000', user: 'bob' });
  });

  test('the replica has as many turns as it may', async () => {
    const replica = await replicaWith({ MAX_CONCURRENT_TURNS: '1' });
    await start(replica, { text: 'sleep 60000' });
    const calls = waysOf(userMessage('done')).map((call) => ({ ...call, user: 'bob' }));
    await expectRefused(replica, calls, { ...whole, metadata: { ...turns, scope: 'replica' } });
  });

  test('one user has as many streams as a user may', async () => {
    const replica = await replicaWith({ MAX_STREAMS_PER_OWNER: '2' });
    const id = await start(replica, { text: 'sleep 60000' });
    const [leave] = [
      await openStream(replica, watching(id)[0]!),
      await openStream(replica, watching(id)[1]!),
    ];
    const expected = { ...owner, metadata: { ...streams, scope: 'owner' } };
    await expectRefused(replica, [...streaming(userMessage('done')), ...watching(id)], expected);
    await openStream(replica, { ...streaming(userMessage('sleep 60000'))[0]!, user: 'bob' });
    leave();
    while (replica.cluster.status().stream.tails > 2) await new Promise((go) => setTimeout(go, 5));
    await openStream(replica, watching(id)[0]!);
  });

  test('the replica has as many streams as it may, whoever they are', async () => {
    const replica = await replicaWith({ MAX_STREAMS: '1', AUTH_TOKENS: '' });
    const id = await start(replica, { text: 'sleep 60000' });
    await openStream(replica, watching(id)[0]!);
    const expected = { ...whole, metadata: { ...streams, scope: 'replica' } };
    await expectRefused(replica, [...streaming(userMessage('done')), ...watching(id)], expected);
  });

  test('a client of A2A 0.3 has the status and the time to wait, too', async () => {
    const replica = await replicaWith({ MAX_TURNS_PER_OWNER: '1' });
    await start(replica, { text: 'sleep 60000' });
    const message = { messageId: 'old', role: 'ROLE_USER', content: [{ text: 'done' }] };
    const call = { path: '/a2a/rest/v1/message:send', body: { message }, version: '0.3' };
    const answer = await ask(replica, call);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '5']);
  });

  test('nobody without a name is limited by the user all of them share', async () => {
    const replica = await replicaWith({ AUTH_TOKENS: '' });
    for (let turn = 0; turn < 101; turn += 1) await start(replica, { text: 'sleep 60000' });
    expect(replica.cluster.requestHandler.runningTurns).toBe(101);
  });
});

describe('an agent that does not stop', () => {
  test('has its turn ended FAILED with the reason', async () => {
    const replica = await replicaWith({ MAX_EVENTS_PER_TURN: '20' });
    const answer = await ask(replica, waysOf(userMessage('tick 100 0; done'))[2]!);
    const { task } = (await answer.json()) as { task: { status: object; metadata: object } };
    expect(task).toMatchObject({
      status: { state: 'TASK_STATE_FAILED' },
      metadata: { 'a2a-cluster': { reason: 'too_many_events' } },
    });
  });

  test('nor one whose events are too large', async () => {
    const replica = await replicaWith({ MAX_EVENT_BYTES: '10kb' });
    const answer = await ask(replica, waysOf(userMessage('chunk 1 20000 0; done'))[2]!);
    const { task } = (await answer.json()) as { task: { status: object; metadata: object } };
    expect(task).toMatchObject({
      status: { state: 'TASK_STATE_FAILED' },
      metadata: { 'a2a-cluster': { reason: 'executor_error' } },
    });
  });
});

test('limits that are no limits are refused at start by the names of their variables', async () => {
  const wrong = replicaWith({ MAX_TURNS_PER_OWNER: 'x', MAX_STREAMS: '0' });
  await expect(wrong).rejects.toThrow(
    /^MAX_STREAMS must .*\nMAX_TURNS_PER_OWNER must |^MAX_TURNS_PER_OWNER must .*\nMAX_STREAMS must /,
  );
});
