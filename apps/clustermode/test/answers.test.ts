import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { StreamResponse } from '@a2a-js/sdk';
import { A2AError } from '@a2a-js/sdk/errors';
import { ServerCallContext, type A2ARequestHandler } from '@a2a-js/sdk/server';
import { captureConsole } from '../src/log.js';
import { createFixture, rpc, userMessage, v1, type FixtureOptions } from './fixture.js';
import { keepLog, type KeptLog } from './log-lines.js';

const SECRET = 'connect to 10.1.2.3 as root failed';
const INSIDE = /10\.1\.2\.3|root failed|answers\.test|node_modules|\n\s+at /;
const real = { ...console };
const servers: Server[] = [];

afterEach(async () => {
  Object.assign(console, real);
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

interface Served {
  readonly url: string;
  readonly kept: KeptLog;
}

/** A real server whose console is the log, as that of a replica is. */
async function serve(options: FixtureOptions): Promise<Served> {
  const kept = keepLog();
  captureConsole(kept.log);
  const server = createServer(createFixture({ ...options, logger: kept.log }).app).listen(0, '127.0.0.1');
  servers.push(server);
  await new Promise((resolve) => server.once('listening', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, kept };
}

const fails = (): Promise<never> => Promise.reject(new Error(SECRET));
// eslint-disable-next-line require-yield
const failsAtOnce = async function* (): AsyncGenerator<StreamResponse, void, undefined> {
  throw new Error(SECRET);
};

const broken: Partial<A2ARequestHandler> = {
  getAuthenticatedExtendedAgentCard: fails,
  sendMessage: fails,
  sendMessageStream: failsAtOnce,
  getTask: fails,
  listTasks: fails,
  cancelTask: fails,
  resubscribe: failsAtOnce,
  createTaskPushNotificationConfig: fails,
  getTaskPushNotificationConfig: fails,
  listTaskPushNotificationConfigs: fails,
  deleteTaskPushNotificationConfig: fails,
};

const hook = { url: 'https://hooks.test/' };
const legacyMessage = { messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'done' }] };
const legacyRest = { messageId: 'm', role: 'ROLE_USER', content: [{ text: 'done' }] };

/** A request: path, headers, and what is sent, if anything. */
type Call = readonly [path: string, headers: object, body?: object | undefined, method?: string];
const RPC = '/a2a/jsonrpc';
const REST = '/a2a/rest';

const calls: readonly Call[] = [
  ...Object.entries({
    GetExtendedAgentCard: {},
    SendMessage: { message: userMessage('done') },
    SendStreamingMessage: { message: userMessage('done') },
    GetTask: { id: 't' },
    ListTasks: {},
    CancelTask: { id: 't' },
    SubscribeToTask: { id: 't' },
    CreateTaskPushNotificationConfig: { taskId: 't', ...hook },
    GetTaskPushNotificationConfig: { taskId: 't', id: 'c' },
    ListTaskPushNotificationConfigs: { taskId: 't' },
    DeleteTaskPushNotificationConfig: { taskId: 't', id: 'c' },
  }).map(([method, params]): Call => [RPC, v1, rpc(method, params)]),
  ...Object.entries({
    'agent/getAuthenticatedExtendedCard': {},
    'message/send': { message: legacyMessage },
    'message/stream': { message: legacyMessage },
    'tasks/get': { id: 't' },
    'tasks/cancel': { id: 't' },
    'tasks/resubscribe': { id: 't' },
    'tasks/pushNotificationConfig/set': { taskId: 't', pushNotificationConfig: hook },
    'tasks/pushNotificationConfig/get': { id: 't', pushNotificationConfigId: 'c' },
    'tasks/pushNotificationConfig/list': { id: 't' },
    'tasks/pushNotificationConfig/delete': { id: 't', pushNotificationConfigId: 'c' },
  }).map(([method, params]): Call => [RPC, {}, rpc(method, params)]),
  [`${REST}/extendedAgentCard`, v1],
  [`${REST}/message:send`, v1, { message: userMessage('done') }],
  [`${REST}/message:stream`, v1, { message: userMessage('done') }],
  [`${REST}/tasks`, v1],
  [`${REST}/tasks/t`, v1],
  [`${REST}/tasks/t:cancel`, v1, {}],
  [`${REST}/tasks/t:subscribe`, v1],
  [`${REST}/tasks/t/pushNotificationConfigs`, v1, { taskId: 't', ...hook }],
  [`${REST}/tasks/t/pushNotificationConfigs`, v1],
  [`${REST}/tasks/t/pushNotificationConfigs/c`, v1],
  [`${REST}/tasks/t/pushNotificationConfigs/c`, v1, undefined, 'DELETE'],
  [`${REST}/acme/tasks/t`, v1],
  [`${REST}/v1/card`, {}],
  [`${REST}/v1/message:send`, {}, { message: legacyRest }],
  [`${REST}/v1/message:stream`, {}, { message: legacyRest }],
  [`${REST}/v1/tasks/t`, {}],
  [`${REST}/v1/tasks/t:cancel`, {}, {}],
  [`${REST}/v1/tasks/t:subscribe`, {}],
];

async function send(url: string, call: Call): Promise<string> {
  const [path, headers, body, method = body === undefined ? 'GET' : 'POST'] = call;
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const type = body === undefined ? {} : { 'Content-Type': 'application/json' };
  const answer = await fetch(url + path, { method, headers: { ...headers, ...type }, ...sent });
  const text = await answer.text();
  return `${answer.status} ${JSON.stringify([...answer.headers])} ${text}`;
}

function title([path, headers, body, method]: Call): string {
  const { method: verb } = (body ?? {}) as { method?: string };
  const version = 'A2A-Version' in headers ? '1.0' : '0.3';
  return `${version} ${method ?? (body === undefined ? 'GET' : 'POST')} ${path} ${verb ?? ''}`.trim();
}

/** How many lines of the log have the secret. */
function told(kept: KeptLog): number {
  return kept.lines().filter((line) => JSON.stringify(line).includes(SECRET)).length;
}

describe('a fault behind a call', () => {
  test.each(calls.map((call) => [title(call), call] as const))('stays inside: %s', async (_title, call) => {
    const { url, kept } = await serve({ instead: broken });
    const answer = await send(url, call);
    expect(answer).not.toMatch(INSIDE);
    expect(answer).toMatch(/Internal error\./);
    expect(told(kept)).toBe(1);
    const [line] = kept.lines().filter((each) => JSON.stringify(each).includes(SECRET));
    expect(line).toMatchObject({
      level: 'error',
      requestId: expect.any(String),
      err: { stack: expect.stringContaining('answers.test') },
    });
  });
});

describe('a fault in the middle of a stream', () => {
  const event = { payload: { $case: 'statusUpdate', value: {} } };
  const breaks = async function* (): AsyncGenerator<StreamResponse, void, undefined> {
    const status = { state: 2, message: undefined, timestamp: undefined };
    const value = { taskId: 't', contextId: 'c', status, metadata: undefined };
    yield { payload: { ...event.payload, value } } as StreamResponse;
    throw new Error(SECRET);
  };
  const streams = calls.filter((call) => /stream|subscribe/i.test(title(call)));

  test.each(streams.map((call) => [title(call), call] as const))('stays inside: %s', async (_title, call) => {
    const { url, kept } = await serve({ instead: { sendMessageStream: breaks, resubscribe: breaks } });
    const answer = await send(url, call);
    expect(answer).toMatch(/text\/event-stream/);
    expect(answer).toMatch(/event: error\ndata: .*Internal error\./);
    expect(answer).not.toMatch(INSIDE);
    expect(told(kept)).toBe(1);
  });
});

describe('a fault before a call', () => {
  const some = calls.filter(
    ([path, , body]) =>
      path === `${REST}/tasks/t` ||
      (path === RPC && 'GetTask' === (body as { method: string }).method) ||
      path === `${REST}/v1/tasks/t`,
  );

  test.each(some.map((call) => [title(call), call] as const))(
    'in the card stays inside: %s',
    async (_t, call) => {
      const { url, kept } = await serve({ instead: { getAgentCard: fails } });
      const answer = await send(url, call);
      expect(answer).not.toMatch(INSIDE);
      expect(told(kept)).toBe(1);
    },
  );

  test.each(some.map((call) => [title(call), call] as const))(
    'in the context stays inside: %s',
    async (_t, call) => {
      const contextBuilder = (): never => {
        throw new Error(SECRET);
      };
      const { url, kept } = await serve({ contextBuilder });
      const answer = await send(url, call);
      expect(answer).not.toMatch(INSIDE);
      expect(told(kept)).toBe(1);
    },
  );

  test.each(some.map((call) => [title(call), call] as const))(
    'in the user stays inside: %s',
    async (_t, call) => {
      const { url, kept } = await serve({ userBuilder: fails });
      const answer = await send(url, call);
      expect(answer).not.toMatch(INSIDE);
      expect(told(kept)).toBe(1);
    },
  );

  test.each(some.map((call) => [title(call), call] as const))(
    'on its way stays inside: %s',
    async (_t, call) => {
      const streaming = (): never => {
        throw new Error(SECRET);
      };
      const { url, kept } = await serve({ streaming });
      const answer = await send(url, call);
      expect(answer).toMatch(/^500 .*Something went wrong in this server\./);
      expect(answer).not.toMatch(INSIDE);
      expect(kept.lines().filter(({ level }) => level === 'error')).toHaveLength(1);
    },
  );

  test.each(['1.0', '0.3'])('in the card of %s stays inside', async (version) => {
    const { url, kept } = await serve({ instead: { getAgentCard: fails } });
    const answer = await send(url, ['/.well-known/agent-card.json', { 'A2A-Version': version }]);
    expect(answer).toMatch(/^500/);
    expect(answer).not.toMatch(INSIDE);
    expect(told(kept)).toBe(1);
  });
});

describe('what a call gives that cannot be written down', () => {
  const odd = {
    get id(): string {
      throw new Error(SECRET);
    },
  };
  const instead = { getTask: () => Promise.resolve(odd) } as unknown as Partial<A2ARequestHandler>;
  const some = calls.filter((call) => /GetTask$|\/tasks\/t$|tasks\/get$/.test(title(call)));

  test.each(some.map((call) => [title(call), call] as const))('stays inside: %s', async (_title, call) => {
    const { url, kept } = await serve({ instead });
    const answer = await send(url, call);
    expect(answer).toMatch(/Internal error\./);
    expect(answer).not.toMatch(INSIDE);
    expect(told(kept)).toBe(1);
  });

  test('stays inside in a stream', async () => {
    const strange = async function* (): AsyncGenerator<StreamResponse, void, undefined> {
      yield { payload: { $case: 'task', value: odd } } as unknown as StreamResponse;
    };
    const { url, kept } = await serve({ instead: { sendMessageStream: strange } });
    const params = { message: userMessage('done') };
    expect(await send(url, [RPC, v1, rpc('SendStreamingMessage', params)])).not.toMatch(INSIDE);
    expect(await send(url, [`${REST}/message:stream`, v1, params])).not.toMatch(INSIDE);
    expect(kept.lines().filter((line) => line['level'] === 'error').length).toBeGreaterThan(1);
  });
});

describe('a refusal that is an internal error by its code', () => {
  test.each([RPC, `${REST}/message:send`])(
    'keeps its words, whatever context it was in: %s',
    async (path) => {
      const full = new A2AError({ message: 'Too many turns.', metadata: { reason: 'TOO_MANY_TURNS' } });
      const { url, kept } = await serve({
        instead: { sendMessage: () => Promise.reject(full) },
        contextBuilder: () => new ServerCallContext({ requestedVersion: '1.0' }),
      });
      const params = { message: userMessage('done') };
      const answer = await send(url, [path, v1, path === RPC ? rpc('SendMessage', params) : params]);
      expect(answer).toMatch(/Too many turns\./);
      expect(kept.lines().filter(({ level }) => level === 'error')).toEqual([]);
      expect(await kept.audited(1)).toMatchObject([{ reason: 'TOO_MANY_TURNS' }]);
    },
  );
});

describe("the agent's own words", () => {
  test('reach its client: what it throws is the message of the failed task', async () => {
    const { url } = await serve({});
    const body = rpc('SendMessage', { message: userMessage('fail out of paper') });
    expect(await send(url, [RPC, v1, body])).toMatch(/Agent execution error: .*out of paper/);
  });
});
