import { faults, legacyRest, legacyRpc, message, rest, rpc, sent, type Row } from './row.js';

const { params, noTask } = faults;

const configs: readonly (readonly [string, unknown])[] = [
  ['that is a string', 'http://127.0.0.1:9/'],
  ['that is a list', []],
  ['without a URL', {}],
  ['whose URL is null', { url: null }],
  ['whose URL is a number', { url: 5 }],
  ['whose URL is empty', { url: '' }],
  ['whose URL is a word', { url: 'nowhere' }],
  ['whose URL is relative', { url: '//127.0.0.1/' }],
  ['whose URL is a file', { url: 'file:///etc/passwd' }],
  ['whose URL is a script', { url: 'javascript:alert(1)' }],
  ['whose URL is data', { url: 'data:text/plain,x' }],
  ['whose URL is of FTP', { url: 'ftp://127.0.0.1/' }],
  ['whose URL has no host', { url: 'http://' }],
  ['whose URL has a port too high', { url: 'http://127.0.0.1:99999/' }],
  ['whose URL has a broken address', { url: 'http://[::1/' }],
  ['whose URL has an address too high', { url: 'http://256.0.0.1/' }],
  ['whose URL has a space in its host', { url: 'http://a b/' }],
  ['whose id is a number', { url: 'http://127.0.0.1:9/', id: 5 }],
  ['whose id has NUL', { url: 'http://127.0.0.1:9/', id: 'a\u0000' }],
  ['whose id has half a character', { url: 'http://127.0.0.1:9/', id: '\udc00' }],
  ['whose id ends in a space', { url: 'http://127.0.0.1:9/', id: 'a ' }],
  ['whose id has 192 bytes', { url: 'http://127.0.0.1:9/', id: 'c'.repeat(192) }],
  ['whose token is an object', { url: 'http://127.0.0.1:9/', token: {} }],
  ['whose token has a line break', { url: 'http://127.0.0.1:9/', token: 'a\r\nX-Evil: 1' }],
  ['whose token has NUL', { url: 'http://127.0.0.1:9/', token: 'a\u0000' }],
  ['whose token is in Greek', { url: 'http://127.0.0.1:9/', token: '\u03b1' }],
  ['whose authentication is a string', { url: 'http://127.0.0.1:9/', authentication: 'Bearer x' }],
  ['whose scheme is a list', { url: 'http://127.0.0.1:9/', authentication: { scheme: ['Bearer'] } }],
  [
    'whose credentials have a line break',
    { url: 'http://127.0.0.1:9/', authentication: { scheme: 'Bearer', credentials: 'a\nb' } },
  ],
  ['whose tenant ends in a space', { url: 'http://127.0.0.1:9/', tenant: 't ' }],
  ['whose task is a number', { url: 'http://127.0.0.1:9/', taskId: 7 }],
];

const inOldForm: readonly (readonly [string, unknown])[] = [
  ['without a URL', {}],
  ['whose URL is a word', { url: 'nowhere' }],
  ['whose URL is a file', { url: 'file:///etc/passwd' }],
  ['whose id has NUL', { url: 'http://127.0.0.1:9/', id: 'a\u0000' }],
  ['whose token has a line break', { url: 'http://127.0.0.1:9/', token: 'a\nb' }],
  ['whose schemes are a string', { url: 'http://127.0.0.1:9/', authentication: { schemes: 'Bearer' } }],
];

/** Wrong webhooks: with a message, on their own, and in A2A 0.3. */
export const pushConfigs: readonly Row[] = [
  ...configs.flatMap(([name, taskPushNotificationConfig]) =>
    sent(
      `a message with a webhook ${name}`,
      { message: message(), configuration: { taskPushNotificationConfig } },
      params,
    ),
  ),
  ...configs
    .filter(([, config]) => typeof config === 'object' && !Array.isArray(config))
    .flatMap(([name, config]) => [
      rpc(`a webhook ${name}`, {
        method: 'CreateTaskPushNotificationConfig',
        params: { taskId: 'x', ...(config as object) },
        answer: params,
      }),
      rest(`a webhook ${name}`, {
        path: '/tasks/x/pushNotificationConfigs',
        body: JSON.stringify(config),
        answer: params,
      }),
    ]),
  ...inOldForm.flatMap(([name, pushNotificationConfig]) => [
    legacyRpc(`a webhook ${name}`, {
      method: 'tasks/pushNotificationConfig/set',
      params: { taskId: 'x', pushNotificationConfig },
      answer: params,
    }),
    legacyRest(`a webhook ${name}`, {
      path: '/v1/tasks/x/pushNotificationConfigs',
      body: JSON.stringify({ pushNotificationConfig }),
      answer: params,
    }),
  ]),
  rpc('a webhook whose id has NUL, to read', {
    method: 'GetTaskPushNotificationConfig',
    params: { taskId: 'x', id: '\u0000' },
    answer: params,
  }),
  rpc('a webhook whose id is a number, to delete', {
    method: 'DeleteTaskPushNotificationConfig',
    params: { taskId: 'x', id: 5 },
    answer: params,
  }),
  rpc('webhooks of a page that is none', {
    method: 'ListTaskPushNotificationConfigs',
    params: { taskId: 'x', pageSize: -5 },
    answer: params,
  }),
  rpc('webhooks after a token that is a number', {
    method: 'ListTaskPushNotificationConfigs',
    params: { taskId: 'x', pageToken: 5 },
    answer: params,
  }),
  rpc('a sound webhook of a task that is not there', {
    method: 'CreateTaskPushNotificationConfig',
    params: { taskId: 'x', url: 'http://127.0.0.1:9/' },
    answer: noTask,
  }),
  rest('a sound webhook of a task that is not there', {
    path: '/tasks/x/pushNotificationConfigs',
    body: '{"url":"http://127.0.0.1:9/"}',
    answer: noTask,
  }),
];
