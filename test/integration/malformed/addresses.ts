import { faults, json, legacyRest, rawLegacyRpc, rawRpc, rest, rpcBody, type Row } from './row.js';

const { params, noRoute, wrongMethod, noTask, version, noMethod } = faults;
const get = rpcBody('GetTask', { id: 'x' });
const at = (value: string): Record<string, string> => ({ ...json, 'a2a-version': value });

const short = (path: string): string =>
  path.length <= 50 ? path : `${path.slice(0, 30)}... of ${path.length} letters`;

const nowhere = [
  '/',
  '//tasks',
  '/nothing',
  '/message:shout',
  '/tasks/x:explode/y',
  '/acme/more/tasks/x',
  '/tasks/x/pushNotificationConfigs/y/z',
  '/acme/../tasks/x',
  '/tasks/x/artifacts',
];

const methods: readonly (readonly [string, string])[] = [
  ['GET', '/message:send'],
  ['PUT', '/message:send'],
  ['DELETE', '/message:stream'],
  ['POST', '/tasks'],
  ['PATCH', '/tasks/x'],
  ['POST', '/tasks/x'],
  ['GET', '/tasks/x:cancel'],
  ['OPTIONS', '/tasks/x:cancel'],
  ['TRACE', '/tasks/x'],
  ['PROPFIND', '/tasks'],
  ['PUT', '/tasks/x/pushNotificationConfigs'],
  ['POST', '/tasks/x/pushNotificationConfigs/y'],
  ['POST', '/extendedAgentCard'],
];

const broken = [
  '/tasks/%',
  '/tasks/%zz',
  '/tasks/%E0%A4%A',
  '/tasks/%ff',
  '/tasks/%ed%a0%80',
  '/tasks/%c0%af',
  '/%ff/tasks/x',
  '/tasks/x%:cancel',
  '/tasks/x/pushNotificationConfigs/%e2',
  '/a%00b/tasks/x',
  '/acme%20/tasks/x',
  `/${'t'.repeat(192)}/tasks/x`,
  `/tasks/x/pushNotificationConfigs/${'c'.repeat(192)}`,
  '/tasks/x/pushNotificationConfigs/a%00b',
  '/tasks?contextId=%ff',
  '/tasks?contextId=%zz',
  '/tasks?contextId=%ed%a0%80',
  '/tasks?pageToken=%',
  '/tasks?%ff=1',
  '/tasks/x?historyLength=%',
];

const absent = [
  '/tasks/x',
  '/acme/tasks/x',
  '/tasks/a%00b',
  '/tasks/%20x',
  '/tasks/x%20',
  `/tasks/${'x'.repeat(191)}`,
  `/tasks/${'x'.repeat(192)}`,
  `/tasks/${'x'.repeat(8_000)}`,
  '/tasks/%2e%2e%2f%2e%2e%2fetc',
  '/tasks/tasks%2fx',
  '/tasks/__proto__',
  '/tasks/constructor',
  "/tasks/'%20OR%201=1--",
  '/tasks/%25',
  '/TASKS/x/',
];

/** Wrong paths, methods, queries and versions. */
export const addresses: readonly Row[] = [
  ...nowhere.map((path) => rest(`nothing at ${path}`, { path, answer: noRoute })),
  ...methods.map(([method, path]) => rest(`${method} ${path}`, { method, path, answer: wrongMethod })),
  ...broken.map((path) => rest(`what cannot be, at ${short(path)}`, { path, answer: params })),
  ...absent.map((path) => rest(`no task at ${short(path)}`, { path, answer: noTask })),
  ...['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE'].map((method) =>
    rawRpc(method, { method, answer: wrongMethod }),
  ),
  {
    ...rawRpc('a path below', { body: get, answer: noRoute }),
    request: { path: '/a2a/jsonrpc/x', body: get },
  },
  rest('a blank task id', { path: '/tasks/%20', answer: params }),
  rest('a blank task id to cancel', { path: '/tasks/%09:cancel', method: 'POST', answer: params }),
  rest('a parameter that comes twice', { path: '/tasks?pageSize=1&pageSize=2', answer: params }),
  ...[
    '0.2',
    '0.4',
    '0.3.0',
    '1',
    '1.0.0',
    '1.1',
    '2.0',
    'one',
    '-1',
    '1.0, 1.0',
    '0.3, 1.0',
    'v'.repeat(500),
  ].flatMap((value) => [
    rawRpc(`the version ${value.slice(0, 20)}`, {
      headers: at(value),
      body: rpcBody('NoSuchMethod', {}),
      answer: version,
    }),
    rest(`the version ${value.slice(0, 20)}`, { path: '/tasks/x', headers: at(value), answer: version }),
  ]),
  ...['NoSuchMethod', 'message/send', 'getTask', 'toString', '__proto__', 'constructor'].map((method) =>
    rawRpc(`the method ${method}`, { body: rpcBody(method, {}), answer: noMethod }),
  ),
  ...['SendMessage', 'tasks/list', 'hasOwnProperty', '__proto__'].map((method) =>
    rawLegacyRpc(`the method ${method}`, { body: rpcBody(method, {}), answer: noMethod }),
  ),
  // Lenient: the SDK looks at the parameters before the name of the method.
  rawRpc('an unknown method without parameters', { body: rpcBody('NoSuchMethod'), answer: params }),
  legacyRest('nothing there', { path: '/v1/nothing', answer: noRoute }),
  legacyRest('a wrong method', { path: '/v1/message:send', answer: wrongMethod }),
  legacyRest('a broken escape', { path: '/v1/tasks/%zz', answer: params }),
  legacyRest('a broken escape in the query', { path: '/v1/tasks/x?historyLength=%', answer: params }),
  legacyRest('no such task', { path: '/v1/tasks/x', answer: noTask }),
  legacyRest('a task id with NUL', { path: '/v1/tasks/a%00b', answer: noTask }),
  legacyRest('a history length that is a word', { path: '/v1/tasks/x?history_length=all', answer: params }),
  // Lenient: silence about the version means 0.3, which the SDK lets read at the paths of 1.0 too.
  rest('a path of 1.0 without a version', { path: '/tasks/x', headers: {}, answer: noTask }),
];
