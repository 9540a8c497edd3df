import { gzipSync } from 'node:zlib';
import {
  faults,
  json,
  legacyRest,
  message,
  nested,
  rawLegacyRpc,
  rawRpc,
  rest,
  rpcBody,
  type Row,
} from './row.js';

const { notJson, noRequest, params, contentType, tooLarge, noTask } = faults;
const get = rpcBody('GetTask', { id: 'X' });
const send = JSON.stringify({ message: message() });
const withType = (type: string): Record<string, string> => ({ ...json, 'content-type': type });
const withBytes = (text: string, byte: number): Buffer =>
  Buffer.from(text).map((each) => (each === 0x58 ? byte : each)) as Buffer;
const large = 'x'.repeat(300_000);

/** Bytes that are no JSON, whatever the transport. */
const broken: readonly (readonly [string, string | Buffer])[] = [
  ['half an object', '{"jsonrpc":"2.0",'],
  ['a comma too many', '{"jsonrpc":"2.0",}'],
  ['single quotes', "{'jsonrpc':'2.0'}"],
  ['a comment', '{"jsonrpc":"2.0"/* */}'],
  ['two values', '{}{}'],
  ['NaN', '{"id":NaN}'],
  ['Infinity', '{"id":-Infinity}'],
  ['a number with a plus', '{"id":+1}'],
  ['a number in hexadecimal', '{"id":0x10}'],
  ['a bare control character in a string', '{"id":"a\nb"}'],
  ['a broken escape in a string', '{"id":"\\u12"}'],
  ['only a brace', '{'],
  ['half a million open brackets', '['.repeat(200_000)],
  ['NUL bytes', Buffer.alloc(16)],
  ['random bytes', Buffer.from([0xde, 0xad, 0xbe, 0xef])],
  ['bytes that are no UTF-8', withBytes('{"message":"X"}', 0xff)],
  ['half a character of UTF-8', withBytes('{"message":"X"}', 0xe2)],
  [
    'a surrogate in UTF-8',
    Buffer.concat([Buffer.from('{"message":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
  ],
  [
    'an overlong slash in UTF-8',
    Buffer.concat([Buffer.from('{"message":"'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')]),
  ],
];

const envelopes: readonly (readonly [string, string])[] = [
  ['null', 'null'],
  ['true', 'true'],
  ['a number', '7'],
  ['a string', '"GetTask"'],
  ['an empty object', '{}'],
  ['an empty batch', '[]'],
  ['a batch of one', `[${get}]`],
  ['a batch of two', `[${get},${get}]`],
  ['no jsonrpc', '{"id":1,"method":"GetTask","params":{"id":"x"}}'],
  ['jsonrpc 1.0', get.replace('"2.0"', '"1.0"')],
  ['jsonrpc as a number', get.replace('"2.0"', '2.0')],
  ['no method', '{"jsonrpc":"2.0","id":1}'],
  ['an empty method', rpcBody('')],
  ['a method that is null', '{"jsonrpc":"2.0","id":1,"method":null}'],
  ['a method that is a list', '{"jsonrpc":"2.0","id":1,"method":["GetTask"]}'],
  ['an id that is an object', get.replace('"id":1', '"id":{}')],
  ['an id that is a list', get.replace('"id":1', '"id":[1]')],
  ['an id that is false', get.replace('"id":1', '"id":false')],
  ['an id with a fraction', get.replace('"id":1', '"id":0.5')],
  ['an id beyond every number', get.replace('"id":1', '"id":1e999')],
  ['the envelope in __proto__', '{"__proto__":{"jsonrpc":"2.0","method":"GetTask","params":{"id":"x"}}}'],
];

const types: readonly (readonly [string, string])[] = [
  ['text/plain', 'text/plain'],
  ['a form', 'application/x-www-form-urlencoded'],
  ['multipart', 'multipart/form-data; boundary=x'],
  ['almost JSON', 'application/jsonp'],
  ['JSON of another kind', 'application/vnd.api+json'],
  ['no media type', ';charset=utf-8'],
  ['nonsense', '////'],
  ['an unknown charset', 'application/json; charset=klingon'],
  ['a charset that is no UTF', 'application/json; charset=latin1'],
];

/** Bodies that are wrong before anybody asks what they mean. */
export const bodies: readonly Row[] = [
  ...broken.map(([name, body]) => rawRpc(name, { body, answer: notJson })),
  ...broken.map(([name, body]) => rest(name, { path: '/message:send', body, answer: notJson })),
  ...envelopes.map(([name, body]) => rawRpc(`an envelope: ${name}`, { body, answer: noRequest })),
  ...types.map(([name, type]) =>
    rawRpc(`a content type: ${name}`, { body: get, headers: withType(type), answer: contentType }),
  ),
  ...types.map(([name, type]) =>
    rest(`a content type: ${name}`, {
      path: '/message:send',
      body: send,
      headers: withType(type),
      answer: contentType,
    }),
  ),
  rawRpc('A2A JSON, which is of REST', {
    body: get,
    headers: withType('application/a2a+json'),
    answer: contentType,
  }),
  rawRpc('no body', { method: 'POST', answer: noRequest }),
  rawRpc('an empty body', { body: '', answer: noRequest }),
  rawRpc('only spaces', { body: '   ', answer: notJson }),
  rest('no body', { path: '/message:send', method: 'POST', answer: params }),
  rest('an empty body', { path: '/message:send', body: '', answer: params }),
  rest('only spaces', { path: '/message:send', body: '   ', answer: notJson }),
  rawRpc('a body over the limit', { body: rpcBody('GetTask', { id: large }), answer: tooLarge }),
  rest('a body over the limit', {
    path: '/message:send',
    body: JSON.stringify({ message: message({ messageId: large }) }),
    answer: tooLarge,
  }),
  rawRpc('a small body that unpacks over the limit', {
    body: gzipSync(rpcBody('GetTask', { id: large })),
    headers: { ...json, 'content-encoding': 'gzip' },
    answer: tooLarge,
  }),
  rawRpc('a packed body that is not packed', {
    body: get,
    headers: { ...json, 'content-encoding': 'gzip' },
    answer: params,
  }),
  rawRpc('an unknown packing', {
    body: get,
    headers: { ...json, 'content-encoding': 'rot13' },
    answer: contentType,
  }),
  rest('an unknown packing', {
    path: '/message:send',
    body: send,
    headers: { ...json, 'content-encoding': 'rot13' },
    answer: contentType,
  }),
  // A body that a path does not take is ignored when it is an object; the SDK writes the tenant into it.
  ...['"text"', '5', 'true', '[]'].flatMap((body) =>
    ['/tasks/x:cancel', '/acme/tasks/x:cancel', '/acme/tasks/x:subscribe'].map((path) =>
      rest(`${body} where no body is taken, at ${path}`, { path, body, answer: params }),
    ),
  ),
  rest('null where no body is taken', { path: '/acme/tasks/x:cancel', body: 'null', answer: noTask }),
  rest('a body with GET', {
    path: '/acme/tasks/x',
    method: 'GET',
    body: '"text"',
    answer: params,
  }),
  legacyRest('broken JSON', { path: '/v1/message:send', body: '{"message":', answer: notJson }),
  legacyRest('bytes that are no UTF-8', {
    path: '/v1/message:send',
    body: withBytes('{"message":"X"}', 0xff),
    answer: notJson,
  }),
  rawLegacyRpc('a batch', { body: `[${get}]`, answer: noRequest }),
  rawRpc('nesting of 101 levels', {
    body: `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x","metadata":${nested(100)}}}`,
    answer: params,
  }),
  rawRpc('nesting of 30 000 levels', {
    body: `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x","metadata":${nested(30_000)}}}`,
    answer: params,
  }),
  rawRpc('nesting of 30 000 levels in a field nobody knows', {
    body: `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"},"more":${nested(30_000)}}`,
    answer: params,
  }),
  rest('nesting of 30 000 levels', {
    path: '/message:send',
    body: `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":${nested(30_000)}}]}}`,
    answer: params,
  }),
  // Lenient: RFC 8259 lets a parser skip a byte order mark, and says nothing of names that come twice.
  rawRpc('a byte order mark', { body: `\ufeff${get}`, answer: noTask }),
  rawRpc('UTF-16 with its charset', {
    body: Buffer.from(get, 'utf16le'),
    headers: withType('application/json; charset=utf-16le'),
    answer: noTask,
  }),
  rawRpc('a name that comes twice, of which the last counts', {
    body: get.replace('"id":"X"', '"id":5,"id":"X"'),
    answer: noTask,
  }),
  rawRpc('a name that comes twice, the last of the wrong type', {
    body: get.replace('"id":"X"', '"id":"X","id":5'),
    answer: params,
  }),
  rawRpc('a content type in capitals with parameters', {
    body: get,
    headers: withType('Application/JSON ; charset="UTF-8"; v=1'),
    answer: noTask,
  }),
];
