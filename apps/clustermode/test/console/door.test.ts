import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { consoleAccessOf } from '../../src/console/access.js';
import { foreignOrigin, isLoopbackHost } from '../../src/console/same-origin.js';
import { shownUrl } from '../../src/shown-url.js';

const OPERATOR = 'operator-0123456789';
const CONSOLE = 'console-0123456789';

function from(headers: IncomingMessage['headers']): IncomingMessage {
  return { headers } as IncomingMessage;
}

function bearer(token: string): IncomingMessage {
  return from({ authorization: `Bearer ${token}` });
}

describe('who may use the console', () => {
  const on = { port: undefined, host: '127.0.0.1', token: undefined, consoleToken: undefined };

  test('without tokens: as for all routes of the operator', () => {
    const local = consoleAccessOf(on, '127.0.0.1');
    expect([local.closed, local.loopbackOnly, local.visitorOf(from({}))]).toEqual([
      ...[false, true],
      { key: 'none', mayAct: true },
    ]);
    const ofAll = consoleAccessOf(on, '0.0.0.0');
    expect(ofAll.closed).toBe(true);
    const ownListener = consoleAccessOf({ ...on, port: 9, host: '10.0.0.1' }, '0.0.0.0');
    expect([ownListener.closed, ownListener.loopbackOnly]).toEqual([false, false]);
  });

  test('with the token of the operator alone: it looks and acts', () => {
    const { closed, loopbackOnly, visitorOf } = consoleAccessOf({ ...on, token: OPERATOR }, '0.0.0.0');
    expect([closed, loopbackOnly]).toEqual([false, false]);
    expect(visitorOf(bearer(OPERATOR))).toEqual({ key: 'operator', mayAct: true });
    for (const wrong of [from({}), bearer(''), bearer(`${OPERATOR}x`)]) expect(visitorOf(wrong)).toBeUndefined();
  });

  test('with both: the one of the operator only looks', () => {
    const { visitorOf } = consoleAccessOf({ ...on, token: OPERATOR, consoleToken: CONSOLE }, '0.0.0.0');
    expect(visitorOf(bearer(OPERATOR))).toEqual({ key: 'operator', mayAct: false });
    expect(visitorOf(bearer(CONSOLE))).toEqual({ key: 'console', mayAct: true });
    expect(visitorOf(from({}))).toBeUndefined();
  });

  test('with the token of the console alone: it is wanted to look, too', () => {
    const { closed, visitorOf } = consoleAccessOf({ ...on, consoleToken: CONSOLE }, '127.0.0.1');
    expect([closed, visitorOf(from({})), visitorOf(bearer(CONSOLE))?.mayAct]).toEqual([false, undefined, true]);
  });
});

describe('a request to act', () => {
  test.each([
    ['a tool', { host: 'x:1' }],
    ['its own page', { host: 'x:1', origin: 'http://x:1', 'sec-fetch-site': 'same-origin' }],
    ['its own page behind a proxy with the certificate', { host: 'x.example', origin: 'https://x.example' }],
    ['with the port spelled out', { host: 'x.example:443', origin: 'https://x.example' }],
    ['in capitals', { host: 'X.example', origin: 'https://x.EXAMPLE' }],
    ['an address', { host: '[::1]:9', origin: 'http://[::1]:9' }],
  ])('is taken from %s', (_name, headers) => {
    expect(foreignOrigin(from(headers))).toBeUndefined();
  });

  test.each([
    ['another host', { host: 'x:1', origin: 'http://y:1' }],
    ['another port', { host: 'x:1', origin: 'http://x:2' }],
    ['a longer name', { host: 'x', origin: 'http://x.evil' }],
    ['a sandboxed frame', { host: 'x', origin: 'null' }],
    ['a file', { host: 'x', origin: 'file://x' }],
    ['no text at all', { host: 'x', origin: '' }],
    ['nobody knows where', { origin: 'http://x' }],
    ['a host that is none', { host: 'a b', origin: 'http://a' }],
    ['another site without an origin', { host: 'x', 'sec-fetch-site': 'cross-site' }],
    ['a neighbour', { host: 'x', origin: 'http://x', 'sec-fetch-site': 'same-site' }],
    ['what a proxy says', { host: 'in:1', 'x-forwarded-host': 'x', origin: 'http://x' }],
  ])('is not taken from %s', (_name, headers) => {
    expect(foreignOrigin(from(headers))).toMatch(/\.$/);
  });

  test('comes to this machine by its own names only', () => {
    for (const host of ['localhost:1', '127.0.0.1', '127.1.2.3:9', '[::1]:9'])
      expect([host, isLoopbackHost(host)]).toEqual([host, true]);
    for (const host of [undefined, '', 'evil.example:9', '10.0.0.1', 'localhost.evil.example', 'a b'])
      expect([host, isLoopbackHost(host)]).toEqual([host, false]);
  });
});

test.each([
  ['http://h/p', 'http://h/p'],
  ['http://h/p?key=secret#x', 'http://h/p?…'],
  ['https://user:secret@h:1/p@q?x', 'https://h:1/p@q?…'],
  ['https://secret@h', 'https://h'],
  ['https://u:a@secret@h/', 'https://h/'],
  ['no url?secret', 'no url?…'],
  ['http://h/p#secret\nmore secret', 'http://h/p?…'],
])('of %s is shown %s', (url, shown) => {
  expect(shownUrl(url)).toBe(shown);
});
