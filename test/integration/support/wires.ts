import type { RawRequest } from './raw-request.js';

/** What a call is about. */
export interface Target {
  readonly taskId: string;
  /** The context a message names; absent: none. */
  readonly contextId?: string;
  readonly messageId?: string;
  readonly configId?: string;
  readonly text?: string;
  readonly tenant?: string;
}

/** The verbs that name a task. */
export const verbs = [
  'send',
  'stream',
  'get',
  'cancel',
  'subscribe',
  'createConfig',
  'getConfig',
  'listConfigs',
  'deleteConfig',
] as const;

/** One of them. */
export type Verb = (typeof verbs)[number];

/** A transport in a version of A2A: how it puts a call on the wire. */
export interface Wire {
  readonly name: string;
  call(verb: Verb, target: Target): RawRequest;
}

/** Where webhooks point that nothing listens behind. */
export const HOOK = 'http://127.0.0.1:9/';

const methods: Record<Verb, readonly [string, string]> = {
  send: ['SendMessage', 'message/send'],
  stream: ['SendStreamingMessage', 'message/stream'],
  get: ['GetTask', 'tasks/get'],
  cancel: ['CancelTask', 'tasks/cancel'],
  subscribe: ['SubscribeToTask', 'tasks/resubscribe'],
  createConfig: ['CreateTaskPushNotificationConfig', 'tasks/pushNotificationConfig/set'],
  getConfig: ['GetTaskPushNotificationConfig', 'tasks/pushNotificationConfig/get'],
  listConfigs: ['ListTaskPushNotificationConfigs', 'tasks/pushNotificationConfig/list'],
  deleteConfig: ['DeleteTaskPushNotificationConfig', 'tasks/pushNotificationConfig/delete'],
};

function names({ taskId, contextId, messageId = 'm' }: Target): object {
  return { messageId, ...(taskId ? { taskId } : {}), ...(contextId ? { contextId } : {}) };
}

function params(verb: Verb, target: Target): object {
  const { taskId, configId = 'c', text = 'done', tenant } = target;
  const of = tenant === undefined ? {} : { tenant };
  switch (verb) {
    case 'send':
    case 'stream':
      return { ...of, message: { ...names(target), role: 'ROLE_USER', parts: [{ text }] } };
    case 'createConfig':
      return { ...of, taskId, id: configId, url: HOOK };
    case 'getConfig':
    case 'deleteConfig':
      return { ...of, taskId, id: configId };
    case 'listConfigs':
      return { ...of, taskId };
    default:
      return { ...of, id: taskId };
  }
}

function oldParams(verb: Verb, target: Target): object {
  const { taskId, configId = 'c', text = 'done' } = target;
  const parts = [{ kind: 'text', text }];
  switch (verb) {
    case 'send':
    case 'stream':
      return { message: { kind: 'message', ...names(target), role: 'user', parts } };
    case 'createConfig':
      return { taskId, pushNotificationConfig: { id: configId, url: HOOK } };
    default:
      return { id: taskId, pushNotificationConfigId: configId };
  }
}

function jsonRpc(version: '1.0' | '0.3'): Wire {
  const old = version === '0.3';
  return {
    name: `JSON-RPC ${version}`,
    call: (verb, target) => ({
      path: '/a2a/jsonrpc',
      headers: { 'content-type': 'application/json', 'a2a-version': version },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: methods[verb][old ? 1 : 0],
        params: old ? oldParams(verb, target) : params(verb, target),
      }),
    }),
  };
}

const places: Record<Verb, (taskId: string, configId: string) => readonly [string, string]> = {
  send: () => ['POST', 'message:send'],
  stream: () => ['POST', 'message:stream'],
  get: (taskId) => ['GET', `tasks/${taskId}`],
  cancel: (taskId) => ['POST', `tasks/${taskId}:cancel`],
  subscribe: (taskId) => ['GET', `tasks/${taskId}:subscribe`],
  createConfig: (taskId) => ['POST', `tasks/${taskId}/pushNotificationConfigs`],
  getConfig: (taskId, configId) => ['GET', `tasks/${taskId}/pushNotificationConfigs/${configId}`],
  listConfigs: (taskId) => ['GET', `tasks/${taskId}/pushNotificationConfigs`],
  deleteConfig: (taskId, configId) => ['DELETE', `tasks/${taskId}/pushNotificationConfigs/${configId}`],
};

function restBody(verb: Verb, target: Target, old: boolean): object | undefined {
  const { taskId, configId = 'c', text = 'done' } = target;
  switch (verb) {
    case 'send':
    case 'stream': {
      const said = old ? { content: [{ text }] } : { parts: [{ text }] };
      return { message: { ...names(target), role: 'ROLE_USER', ...said } };
    }
    case 'createConfig': {
      const name = `tasks/${taskId}/pushNotificationConfigs/${configId}`;
      const config = { id: configId, url: HOOK };
      return old ? { name, pushNotificationConfig: config } : config;
    }
    default:
      return undefined;
  }
}

function rest(version: '1.0' | '0.3'): Wire {
  const old = version === '0.3';
  return {
    name: `REST ${version}`,
    call(verb, target) {
      const { taskId, configId = 'c', tenant } = target;
      const [method, place] = places[verb](encodeURIComponent(taskId), encodeURIComponent(configId));
      const head = old ? '/v1' : tenant === undefined ? '' : `/${encodeURIComponent(tenant)}`;
      const body = restBody(verb, target, old);
      return {
        method,
        path: `/a2a/rest${head}/${place}`,
        headers: {
          'a2a-version': version,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      };
    },
  };
}

/** Both transports in both versions. */
export const wires: readonly Wire[] = [jsonRpc('1.0'), rest('1.0'), jsonRpc('0.3'), rest('0.3')];

/** The same request with a token. */
export function withToken(request: RawRequest, token: string): RawRequest {
  return { ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } };
}
