import fc from 'fast-check';
import type { RawRequest } from '../support/raw-request.js';
import { verbs, wires, type Target } from '../support/wires.js';
import { anyBody, bytesChanged, mutated, mutations, strange } from './mutations.js';

/** Full of fields, so that there is much to get wrong. */
const configuration = {
  acceptedOutputModes: ['text/plain'],
  historyLength: 5,
  returnImmediately: false,
  taskPushNotificationConfig: {
    id: 'c',
    url: 'http://127.0.0.1:9/',
    token: 't',
    authentication: { scheme: 'Bearer', credentials: 'x' },
  },
};
const message = {
  messageId: 'm',
  contextId: 'c',
  role: 'ROLE_USER',
  parts: [
    { text: 'x', mediaType: 'text/plain' },
    { data: { a: [1] } },
    { raw: 'aGk=' },
    { url: 'http://a.test/' },
  ],
  metadata: { a: { b: 1 } },
  extensions: ['http://a.test/'],
  referenceTaskIds: ['x'],
};
const lists = { contextId: 'c', status: 'TASK_STATE_WORKING', pageSize: 5, historyLength: 1 };
const json = { 'content-type': 'application/json', 'a2a-version': '1.0' };

/** Sound requests: every verb over every wire, on a task of the caller's and on one of another. */
function soundRequests(own: string, foreign: string): RawRequest[] {
  const targets: Target[] = [
    { taskId: own },
    { taskId: foreign },
    { taskId: '', contextId: 'c' },
    { taskId: own, tenant: 'x' },
  ];
  const rpc = (method: string, params: object): RawRequest => ({
    path: '/a2a/jsonrpc',
    headers: json,
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const rich = { message, configuration, metadata: { a: 1 } };
  return [
    ...wires.flatMap((wire) => verbs.flatMap((verb) => targets.map((target) => wire.call(verb, target)))),
    rpc('SendMessage', rich),
    rpc('SendStreamingMessage', rich),
    rpc('SendMessage', { ...rich, message: { ...message, taskId: own } }),
    { path: '/a2a/rest/message:send', headers: json, body: JSON.stringify(rich) },
    { path: '/a2a/rest/message:stream', headers: json, body: JSON.stringify(rich) },
    rpc('ListTasks', lists),
    rpc('ListTasks', {
      includeArtifacts: true,
      statusTimestampAfter: '2026-01-01T00:00:00Z',
      pageToken: 'fGE=',
    }),
    { path: '/a2a/rest/tasks?pageSize=5&status=TASK_STATE_WORKING&contextId=c', headers: json },
  ];
}

const segment = fc.oneof(
  fc
    .constantFrom(...strange.filter((text) => text.isWellFormed() && text.length < 1_000))
    .map(encodeURIComponent),
  fc.constantFrom(
    '%',
    '%zz',
    '%00',
    '%ff',
    '%ed%a0%80',
    '..',
    '.',
    '',
    '/',
    'tasks',
    ':cancel',
    '?a=b',
    '&pageSize=-1',
  ),
  fc.webFragments(),
);

/** Changes to an address: most leave it alone. */
const pathChanged = fc.oneof(
  { weight: 5, arbitrary: fc.constant((path: string): string => path) },
  fc.tuple(fc.nat(20), segment).map(([at, text]) => (path: string): string => {
    const parts = path.split('/');
    parts[3 + (at % Math.max(1, parts.length - 3))] = text;
    return parts.join('/');
  }),
  segment.map(
    (text) =>
      (path: string): string =>
        `${path}${text}`,
  ),
  fc.tuple(segment, segment).map(
    ([name, value]) =>
      (path: string): string =>
        `${path}?${name}=${value}`,
  ),
);

const headersChanged = fc.oneof(
  { weight: 8, arbitrary: fc.constant({}) },
  fc.record({ 'a2a-version': fc.constantFrom('0.3', '1.0', '', '0.2', '1.1', 'x', '0.3.0') }),
  fc.record({
    'content-type': fc.constantFrom('application/a2a+json', 'text/plain', 'application/json;charset=utf-16'),
  }),
  fc.record({ 'content-encoding': fc.constantFrom('gzip', 'br', 'identity', 'x') }),
  fc.record({ 'a2a-extensions': fc.constantFrom('http://a.test/', ',,,', 'x'.repeat(2_000)) }),
);

const methods = fc.oneof(
  { weight: 12, arbitrary: fc.constant(undefined) },
  fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE'),
);

/** Requests that began sound. */
export function requestsAbout(own: string, foreign: string): fc.Arbitrary<RawRequest> {
  const base = fc.constantFrom(...soundRequests(own, foreign));
  const unasked = fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, anyBody);
  const changes = {
    mutations,
    bytes: bytesChanged,
    path: pathChanged,
    headers: headersChanged,
    method: methods,
  };
  return fc.record({ base, unasked, ...changes }).map((made) => {
    const { base: sound, method = sound.method } = made;
    const text =
      sound.body === undefined
        ? made.unasked
        : mutated(JSON.parse(String(sound.body)) as object, made.mutations);
    const json = text === undefined ? {} : { 'content-type': 'application/json' };
    return {
      path: sendable(made.path(sound.path)),
      headers: { ...json, ...sound.headers, ...made.headers },
      ...(method === undefined ? {} : { method }),
      ...(text === undefined ? {} : { body: made.bytes(Buffer.from(text)) }),
    };
  });
}

/** The client itself refuses addresses with such characters, before anything is sent. */
function sendable(path: string): string {
  return path.replaceAll(/[^\x21-\x7e]/g, (letter) =>
    letter.isWellFormed() ? encodeURIComponent(letter) : '%ff',
  );
}
