import { faults, rest, rpc, type Row } from './row.js';

const { params, noTask } = faults;

/** Verbs that name a task, and how they do. */
const verbs: readonly (readonly [string, (id: unknown) => object])[] = [
  ['GetTask', (id) => ({ id })],
  ['CancelTask', (id) => ({ id })],
  ['SubscribeToTask', (id) => ({ id })],
  ['SendMessage', (taskId) => ({ message: { messageId: 'm', role: 1, parts: [{ text: 'x' }], taskId } })],
  ['CreateTaskPushNotificationConfig', (taskId) => ({ taskId, url: 'http://127.0.0.1:9/' })],
  ['GetTaskPushNotificationConfig', (taskId) => ({ taskId, id: 'c' })],
  ['ListTaskPushNotificationConfigs', (taskId) => ({ taskId })],
  ['DeleteTaskPushNotificationConfig', (taskId) => ({ taskId, id: 'c' })],
];

const absent: readonly (readonly [string, string])[] = [
  ['that does not exist', 'no-such-task'],
  ['with NUL', 'a\u0000b'],
  ['with half a character', 'a\ud800'],
  ['that ends in a space', 'x '],
  ['of 192 bytes', 'x'.repeat(192)],
  ['of 200 000 bytes', 'x'.repeat(200_000)],
  ['of wildcards', '%_'],
];

const noIds: readonly (readonly [string, unknown])[] = [
  ['that is a number', 5],
  ['that is a list', ['x']],
  ['that is an object', {}],
  ['that is false', false],
  ['of blanks', ' \t'],
];

const numbers: readonly (readonly [string, unknown])[] = [
  ['-1', -1],
  ['a half', 0.5],
  ['2^31', 2 ** 31],
  ['1e300', 1e300],
  ['true', true],
  ['a list', [1]],
  ['an object', {}],
  ['NaN', 'NaN'],
  ['Infinity', 'Infinity'],
  ['-0 as digits', '-0'],
  ['1.0 as digits', '1.0'],
  ['1e1 as digits', '1e1'],
  ['no digits', ''],
  ['digits and a space', ' 5'],
];

const lists: readonly (readonly [string, object])[] = [
  ['a page of none', { pageSize: 0 }],
  ['a page of 101', { pageSize: 101 }],
  ['a token that is a number', { pageToken: 5 }],
  ['a token that is no base64', { pageToken: '!!!' }],
  ['a token without a bar', { pageToken: Buffer.from('abc').toString('base64') }],
  ['a token without a task', { pageToken: Buffer.from('x|').toString('base64') }],
  ['a token with NUL', { pageToken: Buffer.from('|a\u0000b').toString('base64') }],
  ['a token with NUL in its time', { pageToken: Buffer.from('\u0000|a').toString('base64') }],
  ['a token of no UTF-8', { pageToken: Buffer.from([0xff, 0x7c, 0xff]).toString('base64') }],
  [
    'a token whose task cannot be stored',
    { pageToken: Buffer.from(`|${'x'.repeat(192)}`).toString('base64') },
  ],
  ['a token without its padding', { pageToken: 'fGE' }],
  ['a token with letters between', { pageToken: `${Buffer.from('|abc').toString('base64')}!` }],
  ['a token of 200 000 letters', { pageToken: 'A'.repeat(200_000) }],
  ['a status that does not exist', { status: 'TASK_STATE_HAPPY' }],
  ['a status in lower case', { status: 'task_state_working' }],
  ['the status of 0.3', { status: 'working' }],
  ['a status that is empty', { status: '' }],
  ['a status as the number of none', { status: 99 }],
  ['a negative status', { status: -1 }],
  ['a status with a fraction', { status: 1.5 }],
  ['a status that is true', { status: true }],
  ['a status that is a list', { status: ['TASK_STATE_WORKING'] }],
  ['a status named like a property of every object', { status: 'toString' }],
  ['a context that is a number', { contextId: 1 }],
  ['a context with NUL', { contextId: 'a\u0000' }],
  ['a context that ends in a space', { contextId: 'c ' }],
  ['a flag that is a string', { includeArtifacts: 'true' }],
  ['a time that is a number', { statusTimestampAfter: 1700000000 }],
  ['a time as a number of seconds', { statusTimestampAfter: '1700000000' }],
  ['a time in words', { statusTimestampAfter: 'March 7, 2026' }],
  ['a time that is yesterday', { statusTimestampAfter: 'yesterday' }],
  ['a year alone', { statusTimestampAfter: '2026' }],
  ['a time without a zone', { statusTimestampAfter: '2026-01-01T00:00:00' }],
  ['a day that is in no calendar', { statusTimestampAfter: '2026-02-30T00:00:00Z' }],
  ['a month that is in none', { statusTimestampAfter: '2026-13-01' }],
  ['an hour that is in no day', { statusTimestampAfter: '2026-01-01T25:00:00Z' }],
  ['a year of six digits', { statusTimestampAfter: '+275760-09-13T00:00:00Z' }],
  ['a year before Christ', { statusTimestampAfter: '-000001-01-01T00:00:00Z' }],
  ['a time with its zone beyond the year 9999', { statusTimestampAfter: '9999-12-31T23:59:59-01:00' }],
  ['NaN for a time', { statusTimestampAfter: 'NaN' }],
  ['Infinity for a time', { statusTimestampAfter: 'Infinity' }],
  ['a time in Arabic digits', { statusTimestampAfter: '\u0662\u0660\u0662\u0666-01-01' }],
];

const queries = [
  'pageSize=0',
  'pageSize=101',
  'pageSize=-1',
  'pageSize=1.5',
  'pageSize=1e1',
  'pageSize=+5',
  'pageSize=0x5',
  'pageSize=NaN',
  'pageSize=99999999999999999999',
  'historyLength=-1',
  'historyLength=all',
  'historyLength=%00',
  'pageToken=!!!',
  'pageToken=fA==',
  'pageToken=fGE',
  'status=TASK_STATE_HAPPY',
  'status=99',
  'status=-1',
  'status=NaN',
  'status=__proto__',
  'contextId=%00',
  'contextId=c%20',
  'tenant=%00',
  'includeArtifacts=yes',
  'includeArtifacts=TRUE',
  'statusTimestampAfter=March%207',
  'statusTimestampAfter=0',
  'statusTimestampAfter=%2B275760-09-13T00:00:00Z',
];

/** Taken, and the answer is an empty list: lenient by protobuf's JSON or by what queries are. */
const takenLists: readonly (readonly [string, object])[] = [
  ['nothing but null, which is not set', { contextId: null, status: null, pageSize: null, pageToken: null }],
  ['numbers as digits', { pageSize: '5', historyLength: '007' }],
  ['a status as its number', { status: 2 }],
  ['fields that nobody knows', { owner: 'alice', where: '1=1' }],
  ['names of every object', JSON.parse('{"__proto__":{"pageSize":-1},"constructor":1}') as object],
  ['a number beyond every number, which JSON reads as none', JSON.parse('{"pageSize":null}') as object],
  ['fields in snake_case', { context_id: 'c', page_size: 5 }],
  ['a token whose task is gone: a place', { pageToken: Buffer.from('|a').toString('base64') }],
  ['a token of a time that is none: a place', { pageToken: Buffer.from('zzz|a').toString('base64') }],
  ['a day without a time', { statusTimestampAfter: '9999-01-01' }],
];

const takenQueries = [
  '',
  'unknown=1',
  '__proto__=1&constructor=2',
  '&&&',
  '=',
  'status=',
  'pageSize=&historyLength=',
  'a[b]=c',
  'status=2',
  'status=0x2',
];

/** Wrong reads: lists, numbers and ids, over both transports. */
export const reads: readonly Row[] = [
  ...verbs.flatMap(([method, of]) => [
    ...absent.map(([name, id]) =>
      rpc(`${method} of a task ${name}`, { method, params: of(id), answer: noTask }),
    ),
    ...noIds.map(([name, id]) =>
      rpc(`${method} of an id ${name}`, { method, params: of(id), answer: params }),
    ),
  ]),
  ...verbs
    .filter(([method]) => method !== 'SendMessage')
    .map(([method, of]) => rpc(`${method} of no id`, { method, params: of(undefined), answer: params })),
  ...numbers.flatMap(([name, value]) => [
    rpc(`a page size of ${name}`, { method: 'ListTasks', params: { pageSize: value }, answer: params }),
    rpc(`a history length of ${name}`, {
      method: 'GetTask',
      params: { id: 'x', historyLength: value },
      answer: params,
    }),
  ]),
  ...lists.map(([name, request]) => rpc(name, { method: 'ListTasks', params: request, answer: params })),
  ...queries.map((query) => rest(`the query ${query}`, { path: `/tasks?${query}`, answer: params })),
  ...takenLists.map(([name, request]) =>
    rpc(`taken: ${name}`, { method: 'ListTasks', params: { tenant: 'nobody', ...request }, answer: 'taken' }),
  ),
  ...takenQueries.map((query) =>
    rest(`taken: the query ${query}`, { path: `/nobody/tasks?${query}`, answer: 'taken' }),
  ),
];
