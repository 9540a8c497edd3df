import { faults, message, nested, rpc, sent, type Row } from './row.js';

const { params, noTask } = faults;

/** Fields of a message, and what is wrong with them. */
const fields: readonly (readonly [string, object])[] = [
  ['no message id', { messageId: undefined }],
  ['an empty message id', { messageId: '' }],
  ['a message id that is a number', { messageId: 5 }],
  ['a message id that is a list', { messageId: ['m'] }],
  ['a message id with NUL', { messageId: 'a\u0000b' }],
  ['a message id with half a character', { messageId: '\ud800' }],
  ['a message id that ends in a space', { messageId: 'm ' }],
  ['a message id of 192 bytes', { messageId: 'm'.repeat(192) }],
  ['a message id of 48 emoji', { messageId: '\u{1F600}'.repeat(48) }],
  ['a context id that is an object', { contextId: {} }],
  ['a context id with NUL', { contextId: '\u0000' }],
  ['a context id with half a character', { contextId: 'x\udc00' }],
  ['a context id that ends in a space', { contextId: 'c ' }],
  ['a context id of 192 bytes', { contextId: 'c'.repeat(192) }],
  ['a task id that is true', { taskId: true }],
  ['a task id that is a list', { taskId: [] }],
  ['a blank task id', { taskId: ' ' }],
  ['no role', { role: undefined }],
  ['a role that is null', { role: null }],
  ['the unspecified role', { role: 'ROLE_UNSPECIFIED' }],
  ['the unspecified role as a number', { role: 0 }],
  ['a role that does not exist', { role: 'ROLE_KING' }],
  ['a role as the number of none', { role: 3 }],
  ['a negative role', { role: -1 }],
  ['a role with a fraction', { role: 1.5 }],
  ['a role as digits', { role: '1' }],
  ['a role in lower case', { role: 'role_user' }],
  ['the role of 0.3', { role: 'user' }],
  ['a role that is a list', { role: ['ROLE_USER'] }],
  ['a role named like a property of every object', { role: 'constructor' }],
  ['no parts', { parts: undefined }],
  ['parts that are null', { parts: null }],
  ['empty parts', { parts: [] }],
  ['parts that are a string', { parts: 'done' }],
  ['parts that are an object', { parts: { 0: { text: 'x' }, length: 1 } }],
  ['parts in parts', { parts: [[{ text: 'x' }]] }],
  ['metadata that is a list', { metadata: [] }],
  ['metadata that is a string', { metadata: '{}' }],
  ['metadata nested too deep', { metadata: JSON.parse(nested(120)) as object }],
  ['extensions that are a string', { extensions: 'x' }],
  ['extensions that are numbers', { extensions: [1] }],
  ['an extension that is null', { extensions: [null] }],
  ['references that are a string', { referenceTaskIds: 'x' }],
  ['a reference that is an object', { referenceTaskIds: [{}] }],
  ['a hundred and one references', { referenceTaskIds: Array.from({ length: 101 }, (_, at) => `t${at}`) }],
  ['twenty thousand references', { referenceTaskIds: Array.from({ length: 20_000 }, (_, at) => `t${at}`) }],
];

const parts: readonly (readonly [string, unknown])[] = [
  ['that is null', null],
  ['that is a string', 'done'],
  ['that is empty', {}],
  ['whose text is null', { text: null }],
  ['whose text is a number', { text: 5 }],
  ['whose text is an object', { text: { value: 'x' } }],
  ['of text and URL', { text: 'x', url: 'https://a.test/' }],
  ['of text and data', { text: 'x', data: {} }],
  ['of bytes and URL', { raw: 'aGk=', url: 'https://a.test/' }],
  ['of all four', { text: 'x', raw: 'aGk=', url: 'https://a.test/', data: 1 }],
  ['of an empty text and data', { text: '', data: 1 }],
  ['whose bytes have a space', { raw: 'aG k=' }],
  ['whose bytes are not base64', { raw: '!!!' }],
  ['whose bytes are one letter', { raw: 'A' }],
  ['whose bytes are five letters', { raw: 'aGk5a' }],
  ['whose bytes are padded in the middle', { raw: 'aG==k=' }],
  ['whose bytes are padded too much', { raw: 'aGk===' }],
  ['whose bytes are numbers', { raw: [104, 105] }],
  ['whose URL is none', { url: 'not a url' }],
  ['whose URL is relative', { url: '/x' }],
  ['whose URL is empty', { url: '' }],
  ['whose URL is an object', { url: {} }],
  ['whose file name is a number', { text: 'x', filename: 5 }],
  ['whose media type is a list', { text: 'x', mediaType: [] }],
  ['whose metadata is a string', { text: 'x', metadata: 'x' }],
  ['whose content hides in __proto__', JSON.parse('{"__proto__":{"text":"done"}}')],
];

const configurations: readonly (readonly [string, unknown])[] = [
  ['that is a string', 'x'],
  ['that is a list', []],
  ['with modes that are a string', { acceptedOutputModes: 'text/plain' }],
  ['with modes that are numbers', { acceptedOutputModes: [1] }],
  ['with a flag that is a string', { returnImmediately: 'true' }],
  ['with a flag that is a number', { returnImmediately: 1 }],
  ['with a negative history length', { historyLength: -1 }],
  ['with a history length of a half', { historyLength: 0.5 }],
  ['with a history length of 2^31', { historyLength: 2 ** 31 }],
  ['with a history length of 1e300', { historyLength: 1e300 }],
  ['with a history length that is a word', { historyLength: 'all' }],
  ['with the history length NaN', { historyLength: 'NaN' }],
  ['with a history length in hexadecimal', { historyLength: '0x5' }],
  ['with a history length that is a list', { historyLength: [5] }],
];

const requests: readonly (readonly [string, object])[] = [
  ['no message', {}],
  ['a message that is null', { message: null }],
  ['a message that is a string', { message: 'done' }],
  ['a message that is a list', { message: [message()] }],
  ['a message in __proto__', JSON.parse(`{"__proto__":${JSON.stringify({ message: message() })}}`) as object],
  ['metadata of the request that are a list', { message: message(), metadata: [] }],
  ['metadata of the request that are true', { message: message(), metadata: true }],
];

const tenants: readonly (readonly [string, unknown])[] = [
  ['that is a number', 5],
  ['that is an object', {}],
  ['that ends in a space', 'acme '],
  ['with NUL', 'ac\u0000me'],
  ['with half a character', '\udfff'],
  ['of 192 bytes', 't'.repeat(192)],
];

/** Taken as far as the task, which is not there: what the present behaviour lets through, and why. */
const lenient: readonly (readonly [string, object])[] = [
  ['fields that nobody knows: protobuf ignores them here', { surprise: { deep: [1] }, kind: 'message' }],
  [
    'names of every object: own fields without a meaning',
    JSON.parse('{"__proto__":{"role":5},"constructor":1}') as object,
  ],
  [
    'metadata with such names: data of the client',
    { metadata: JSON.parse('{"__proto__":{"x":1},"constructor":{"prototype":{}}}') as object },
  ],
  ['a role as its number: protobuf takes both', { role: 1 }],
  ['a reference that cannot be stored: no such task', { referenceTaskIds: ['a\u0000b', '\ud800', ''] }],
  ['bytes without padding: protobuf takes both', { parts: [{ raw: 'aGk' }] }],
  ['bytes in the alphabet of URLs', { parts: [{ raw: '-_-_' }] }],
  ['half a character in a text: kept as its escape', { parts: [{ text: '\ud800' }] }],
  ['an agent that speaks: the specification leaves roles to the agent', { role: 'ROLE_AGENT' }],
  ['fields in snake_case: protobuf takes both', { message_id: 'm', reference_task_ids: [] }],
];

/** Wrong messages, over both transports. */
export const messages: readonly Row[] = [
  ...fields.flatMap(([name, change]) => sent(name, { message: message(change) }, params)),
  ...parts.flatMap(([name, part]) => sent(`a part ${name}`, { message: message({ parts: [part] }) }, params)),
  ...configurations.flatMap(([name, configuration]) =>
    sent(`a configuration ${name}`, { message: message(), configuration }, params),
  ),
  ...requests.flatMap(([name, request]) => sent(name, request, params)),
  ...tenants.flatMap(([name, tenant]) => sent(`a tenant ${name}`, { message: message(), tenant }, params)),
  ...lenient.flatMap(([name, change]) =>
    sent(`taken: ${name}`, { message: message({ taskId: 'no-such-task', ...change }) }, noTask),
  ),
  ...[null, [], 'x', 5, true].map((value) =>
    rpc(`the parameters ${JSON.stringify(value)}`, { method: 'SendMessage', params: value, answer: params }),
  ),
  rpc('no parameters', { method: 'SendStreamingMessage', answer: params }),
  rpc('a stream of a message without parts', {
    method: 'SendStreamingMessage',
    params: { message: message({ parts: [] }) },
    answer: params,
  }),
];
