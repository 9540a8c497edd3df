import { faults, legacyRest, legacyRpc, nested, type Row } from './row.js';

const { params, noTask } = faults;

/** A message of A2A 0.3 over JSON-RPC, changed. */
function spoken(change: object): object {
  return {
    kind: 'message',
    messageId: 'm',
    role: 'user',
    parts: [{ kind: 'text', text: 'done' }],
    ...change,
  };
}

/** A message of A2A 0.3 over REST, changed. */
function written(change: object): string {
  const message = { messageId: 'm', role: 'ROLE_USER', content: [{ text: 'done' }], ...change };
  return JSON.stringify({ message });
}

/** Wrong in both transports alike. */
const fields: readonly (readonly [string, object])[] = [
  ['no message id', { messageId: undefined }],
  ['a message id that is a number', { messageId: 1 }],
  ['a message id with NUL', { messageId: '\u0000' }],
  ['a message id with half a character', { messageId: '\ud83d' }],
  ['a message id of 192 bytes', { messageId: 'm'.repeat(192) }],
  ['a context id with NUL', { contextId: 'a\u0000' }],
  ['a context id that ends in a space', { contextId: 'c ' }],
  ['a task id that is an object', { taskId: {} }],
  ['a blank task id', { taskId: '  ' }],
  ['no role', { role: undefined }],
  ['a role that does not exist', { role: 'king' }],
  ['metadata that are a list', { metadata: [] }],
  ['metadata nested too deep', { metadata: JSON.parse(nested(120)) as object }],
  ['extensions that are a string', { extensions: 'x' }],
];

const parts: readonly (readonly [string, unknown])[] = [
  ['that is null', null],
  ['that is empty', {}],
  ['of an unknown kind', { kind: 'smell', text: 'x' }],
  ['of 1.0', { text: 'done' }],
  ['without its text', { kind: 'text' }],
  ['whose text is a number', { kind: 'text', text: 5 }],
  ['without its file', { kind: 'file' }],
  ['of a file of nothing', { kind: 'file', file: {} }],
  ['of a file of two', { kind: 'file', file: { bytes: 'aGk=', uri: 'https://a.test/' } }],
  ['of a file of no base64', { kind: 'file', file: { bytes: '!' } }],
  ['of a file of one letter', { kind: 'file', file: { bytes: 'A' } }],
  ['of a file at no URL', { kind: 'file', file: { uri: 'nowhere' } }],
  ['of data that are a list', { kind: 'data', data: [] }],
  ['of data that are a string', { kind: 'data', data: 'x' }],
];

const contents: readonly (readonly [string, unknown])[] = [
  ['that is null', null],
  ['that is empty', {}],
  ['whose text is a number', { text: 5 }],
  ['of text and file', { text: 'x', file: { fileWithUri: 'https://a.test/' } }],
  ['of a file of nothing', { file: {} }],
  ['of a file of two', { file: { fileWithUri: 'https://a.test/', fileWithBytes: 'aGk=' } }],
  ['of a file of no base64', { file: { fileWithBytes: '!' } }],
  ['of data that are a string', { data: { data: 'x' } }],
];

const configurations: readonly (readonly [string, unknown])[] = [
  ['that is a list', []],
  ['with a negative history length', { historyLength: -1 }],
  ['with a history length of a half', { historyLength: 0.5 }],
  ['with a flag that is a string', { blocking: 'no' }],
  ['with modes that are a string', { acceptedOutputModes: 'text' }],
];

/** Verbs that name a task, and how they do; a stream of a task that is not there is an event that says so. */
const verbs: readonly (readonly [string, (id: unknown) => object])[] = [
  ['tasks/get', (id) => ({ id })],
  ['tasks/cancel', (id) => ({ id })],
  [
    'tasks/pushNotificationConfig/set',
    (taskId) => ({ taskId, pushNotificationConfig: { url: 'http://a.test/' } }),
  ],
  ['tasks/pushNotificationConfig/get', (id) => ({ id, pushNotificationConfigId: 'c' })],
  ['tasks/pushNotificationConfig/list', (id) => ({ id })],
  ['tasks/pushNotificationConfig/delete', (id) => ({ id, pushNotificationConfigId: 'c' })],
];

/** Wrong requests of A2A 0.3. */
export const legacy: readonly Row[] = [
  ...fields.flatMap(([name, change]) => [
    legacyRpc(name, { method: 'message/send', params: { message: spoken(change) }, answer: params }),
    legacyRest(name, { path: '/v1/message:send', body: written(change), answer: params }),
  ]),
  ...parts.map(([name, part]) =>
    legacyRpc(`a part ${name}`, {
      method: 'message/stream',
      params: { message: spoken({ parts: [part] }) },
      answer: params,
    }),
  ),
  ...contents.map(([name, part]) =>
    legacyRest(`a part ${name}`, {
      path: '/v1/message:stream',
      body: written({ content: [part] }),
      answer: params,
    }),
  ),
  ...configurations.map(([name, configuration]) =>
    legacyRpc(`a configuration ${name}`, {
      method: 'message/send',
      params: { message: spoken({}), configuration },
      answer: params,
    }),
  ),
  ...verbs.flatMap(([method, of]) => [
    ...['x', 'a\u0000b', '\ud800', 'x ', 'x'.repeat(192)].map((id) =>
      legacyRpc(`${method} of ${JSON.stringify(id.slice(0, 9))}`, { method, params: of(id), answer: noTask }),
    ),
    ...[5, {}, [], false, '', ' ', undefined].map((id) =>
      legacyRpc(`${method} of the id ${String(JSON.stringify(id))}`, {
        method,
        params: of(id),
        answer: params,
      }),
    ),
  ]),
  ...[5, undefined].map((id) =>
    legacyRpc(`a stream of the id ${String(JSON.stringify(id))}`, {
      method: 'tasks/resubscribe',
      params: { id },
      answer: params,
    }),
  ),
  legacyRest('no message', { path: '/v1/message:send', body: '{}', answer: params }),
  legacyRest('a message by both names', {
    path: '/v1/message:send',
    body: JSON.stringify({
      message: { messageId: 'm', role: 'ROLE_USER', content: [{ text: 'x' }] },
      request: { messageId: 'm', role: 'ROLE_USER', content: [{ text: 'x' }] },
    }),
    answer: params,
  }),
  legacyRest('a message that is a list', {
    path: '/v1/message:send',
    body: '{"message":[]}',
    answer: params,
  }),
  legacyRest('a body that is a number', { path: '/v1/message:send', body: '7', answer: params }),
  legacyRest('a task that is not there to cancel', {
    path: '/v1/tasks/x:cancel',
    body: 'null',
    answer: noTask,
  }),
  legacyRest('a task that is not there to follow', { path: '/v1/tasks/x:subscribe', answer: noTask }),
  legacyRpc('a message to a task that is not there', {
    method: 'message/send',
    params: { message: spoken({ taskId: 'x', surprise: 1 }) },
    answer: noTask,
  }),
];
