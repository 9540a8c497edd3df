import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { createSystemClock } from '@a2a-cluster/core';
import { afterEach, describe, expect, test } from '@jest/globals';
import {
  createWebhookAddressPolicy,
  createWebhookClient,
  type WebhookClient,
  type WebhookClientOptions,
} from '../../src/index.js';
import { makeCertificate } from './certificate.js';
import { requestTo, startReceiver, startSocketServer, type Receiver } from './receiver.js';

const closing: (() => Promise<void>)[] = [];
const HEAD = 'HTTP/1.1 200 OK\r\n';

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

function clientWith(options: Partial<WebhookClientOptions> = {}): WebhookClient {
  const policy = createWebhookAddressPolicy({ allowPrivate: true });
  const client = createWebhookClient({ policy, ...options });
  closing.push(() => client.close());
  return client;
}

async function kept<T extends Receiver>(starting: Promise<T>): Promise<T & { readonly url: string }> {
  const started = await starting;
  closing.push(() => started.close());
  return { ...started, url: `http://127.0.0.1:${started.port}/hook?key=s3cret` };
}

/** A server that does this once the first bytes of a request have come. */
function onRequest(action: (socket: Socket) => void): Promise<Receiver & { readonly url: string }> {
  return kept(startSocketServer((socket) => socket.once('data', () => action(socket))));
}

function dripping(socket: Socket, text: string): void {
  const timer = setInterval(() => socket.write(text), 20);
  socket.on('close', () => clearInterval(timer));
}

describe('an attempt that goes wrong', () => {
  test('a webhook that never answers is left after the time limit, and its connection is cut', async () => {
    const webhook = await onRequest(() => {});
    const outcome = await clientWith({ timeoutMs: 150 }).post(requestTo(webhook.url));
    const error = 'The webhook did not answer within 150 ms.';
    expect(outcome).toEqual({ kind: 'failed', error, retryAfterMs: null });
    await webhook.until(() => webhook.open() === 0);
  });

  test('a webhook whose headers drip is left after the time limit', async () => {
    const webhook = await onRequest((socket) => {
      socket.write(HEAD);
      dripping(socket, 'X-Drip: 1\r\n');
    });
    const outcome = await clientWith({ timeoutMs: 150 }).post(requestTo(webhook.url));
    expect(outcome).toMatchObject({ kind: 'failed', error: expect.stringContaining('within 150 ms') });
    await webhook.until(() => webhook.open() === 0);
  });

  test('a look-up that hangs is bounded by the same limit', async () => {
    const client = clientWith({ timeoutMs: 150, resolve: () => new Promise(() => {}) });
    const outcome = await client.post(requestTo('http://slow.test/'));
    expect(outcome).toMatchObject({ kind: 'failed', error: expect.stringContaining('within 150 ms') });
  });

  test('a TLS handshake that hangs is bounded by the same limit', async () => {
    const webhook = await onRequest(() => {});
    const outcome = await clientWith({ timeoutMs: 150 }).post(
      requestTo(`https://127.0.0.1:${webhook.port}/`),
    );
    expect(outcome).toMatchObject({ kind: 'failed', error: expect.stringContaining('within 150 ms') });
    await webhook.until(() => webhook.open() === 0);
  });

  test('an attempt given up while it waited for a connection is never sent, and costs no connection', async () => {
    let release = (): void => {};
    const webhook = await kept(startReceiver((response) => (release = () => void response.end())));
    const client = clientWith({ connectionsPerOrigin: 1 });
    const first = client.post(requestTo(webhook.url));
    await webhook.until(() => webhook.arrived.length === 1);
    const controller = new AbortController();
    const waiting = [2, 3].map(() => client.post(requestTo(webhook.url), controller.signal));
    const last = client.post(requestTo(webhook.url, { body: '"last"' }));
    controller.abort();
    expect((await Promise.all(waiting)).map(({ kind }) => kind)).toEqual(['failed', 'failed']);
    release();
    expect((await first).kind).toBe('delivered');
    await webhook.until(() => webhook.arrived.length === 2);
    release();
    expect((await last).kind).toBe('delivered');
    expect(webhook.arrived.map(({ body }) => body)).toEqual(['{"a":1}', '"last"']);
    expect(webhook.connections()).toBe(1);
  });

  test('an aborted signal ends the attempt and cuts its connection', async () => {
    const webhook = await kept(startReceiver(() => {}));
    const controller = new AbortController();
    const posted = clientWith().post(requestTo(webhook.url), controller.signal);
    await webhook.until(() => webhook.arrived.length === 1);
    controller.abort();
    const cut = { kind: 'failed', error: 'The attempt was cut short.', retryAfterMs: null };
    expect(await posted).toEqual(cut);
    await webhook.until(() => webhook.open() === 0);
    expect(await clientWith().post(requestTo(webhook.url), controller.signal)).toEqual(cut);
    expect(webhook.arrived).toHaveLength(1);
  });

  test('a body that drips for ever delays no outcome, and its connection is cut soon after', async () => {
    const webhook = await onRequest((socket) => {
      socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`);
      dripping(socket, '1\r\nx\r\n');
    });
    const started = performance.now();
    expect(await clientWith().post(requestTo(webhook.url))).toEqual({ kind: 'delivered', status: 200 });
    expect(performance.now() - started).toBeLessThan(800);
    await webhook.until(() => webhook.open() === 0);
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  test('a long body is cut by its length, before any limit of time', async () => {
    let endless = true;
    const webhook = await kept(
      startReceiver((response) => {
        const pour = (): void => {
          while (endless && !response.destroyed && response.write('x'.repeat(16 * 1_024)));
        };
        response.on('drain', pour);
        pour();
      }),
    );
    const noTimers = { ...createSystemClock(), setTimer: () => ({ cancel: () => {} }) };
    const outcome = await clientWith({ clock: noTimers }).post(requestTo(webhook.url));
    expect(outcome).toEqual({ kind: 'delivered', status: 200 });
    const cut = await Promise.race([
      webhook.until(() => webhook.open() === 0).then(() => true),
      new Promise((resolve) => setTimeout(() => resolve(false), 5_000)),
    ]);
    endless = false;
    expect(cut).toBe(true);
  });

  test('a body without end is cut after 64 KiB, compressed or not, and is never inflated', async () => {
    const bomb = gzipSync(Buffer.alloc(200 * 1_024 * 1_024), { level: 1 });
    const webhook = await kept(
      startReceiver((response) => {
        response.writeHead(200, { 'Content-Encoding': 'gzip' });
        const pour = (): void => {
          while (!response.destroyed && response.write(bomb));
        };
        response.on('drain', pour);
        pour();
      }),
    );
    const before = process.memoryUsage().rss;
    expect(await clientWith().post(requestTo(webhook.url))).toEqual({ kind: 'delivered', status: 200 });
    await webhook.until(() => webhook.open() === 0);
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1_024 * 1_024);
  });

  test('a small compressed answer is read past, and the connection stays', async () => {
    const bomb = gzipSync(Buffer.alloc(20 * 1_024 * 1_024));
    const webhook = await kept(
      startReceiver((response) => void response.writeHead(200, { 'Content-Encoding': 'gzip' }).end(bomb)),
    );
    const client = clientWith();
    for (let count = 0; count < 6; count += 1)
      expect(await client.post(requestTo(webhook.url))).toEqual({ kind: 'delivered', status: 200 });
    expect(webhook.connections()).toBeLessThan(3);
  });

  test.each<[string, (socket: Socket) => void, RegExp]>([
    ['a reset', (socket) => socket.resetAndDestroy(), /broke \(ECONNRESET\)/],
    ['an end', (socket) => socket.end(), /broke \(UND_ERR_SOCKET\)/],
    ['half a status line', (socket) => socket.end('HTTP/1.1 20'), /broke|not HTTP/],
    ['another protocol', (socket) => socket.end('220 mail.test ESMTP\r\n'), /not HTTP/],
    ['huge headers', (socket) => socket.write(`${HEAD}X-A: ${'a'.repeat(99_999)}\r\n\r\n`), /too large/],
    ['endless headers', (socket) => socket.write(HEAD + 'X-A: a\r\n'.repeat(9_999)), /too large/],
    [
      'a switch of protocols',
      (socket) => socket.write('HTTP/1.1 101 x\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'),
      /\./,
    ],
    [
      'two lengths',
      (socket) => socket.write(`${HEAD}Content-Length: 1\r\nContent-Length: 2\r\n\r\nx`),
      /not HTTP/,
    ],
  ])('%s instead of an answer is tried again', async (_title, action, error) => {
    const webhook = await onRequest(action);
    const outcome = await clientWith({ timeoutMs: 5_000 }).post(requestTo(webhook.url));
    expect(outcome).toEqual({ kind: 'failed', error: expect.stringMatching(error), retryAfterMs: null });
    await webhook.until(() => webhook.open() === 0);
  });

  test('a reset in the middle of the body changes nothing: the status line has said it', async () => {
    const webhook = await onRequest((socket) => {
      socket.write(`${HEAD}Content-Length: 99\r\n\r\nx`);
      setTimeout(() => socket.resetAndDestroy(), 50);
    });
    expect(await clientWith().post(requestTo(webhook.url))).toEqual({ kind: 'delivered', status: 200 });
    await webhook.until(() => webhook.open() === 0);
  });

  test('a port nobody listens on is tried again, and the error names no address', async () => {
    const webhook = await kept(startReceiver());
    await webhook.close();
    const outcome = await clientWith().post(requestTo(webhook.url));
    const error = 'No connection to the webhook (ECONNREFUSED).';
    expect(outcome).toEqual({ kind: 'failed', error, retryAfterMs: null });
  });

  test('an error has at most 300 characters', async () => {
    const policy = { checkAddress: () => 'x'.repeat(999) };
    const outcome = await clientWith({ policy }).post(requestTo('http://93.184.216.34/'));
    expect(outcome).toEqual({ kind: 'rejected', error: 'x'.repeat(300) });
  });

  test('a policy and a resolver that throw are outcomes too', async () => {
    const throws = (): never => {
      throw new Error(`no, ${'s3cret'.repeat(99)}`);
    };
    const policy = createWebhookAddressPolicy({ allowPrivate: true });
    const outcomes = [
      await clientWith({ policy, resolve: throws }).post(requestTo('http://public.test/')),
      await clientWith({ policy: { checkAddress: throws } }).post(requestTo('http://93.184.216.34/')),
      await clientWith({ policy: { checkAddress: throws }, resolve: async () => ['93.184.216.34'] }).post(
        requestTo('http://public.test/'),
      ),
    ];
    for (const outcome of outcomes) {
      expect(outcome.kind).toBe('failed');
      expect(JSON.stringify(outcome)).not.toContain('s3cret');
    }
  });
});

describe('TLS', () => {
  const trusted = makeCertificate('hook.test');
  const resolve = async (): Promise<readonly string[]> => ['127.0.0.1'];

  test('a certificate of a trusted CA for the right name is accepted', async () => {
    const webhook = await kept(startReceiver(undefined, trusted));
    const client = clientWith({ resolve, ca: [trusted.cert] });
    const outcome = await client.post(requestTo(`https://hook.test:${webhook.port}/`));
    expect(outcome).toEqual({ kind: 'delivered', status: 200 });
  });

  test.each([
    ['nobody vouches for', 'hook.test', makeCertificate('hook.test')],
    ['is for another name', 'other.test', trusted],
    ['has expired', 'hook.test', makeCertificate('hook.test', 2021)],
  ])('a certificate that %s is not, whatever the environment says', async (_title, host, certificate) => {
    const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    const webhook = await kept(startReceiver(undefined, certificate));
    const ca = _title === 'has expired' ? [certificate.cert] : [trusted.cert];
    const outcome = await clientWith({ resolve, ca }).post(
      requestTo(`https://${host}:${webhook.port}/?key=s3cret`),
    );
    if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
    const error = expect.stringMatching(/^No trusted TLS connection to the webhook \([A-Z_]+\)\.$/);
    expect(outcome).toEqual({ kind: 'failed', error, retryAfterMs: null });
    expect(webhook.arrived).toEqual([]);
  });

  test('a server that speaks no TLS is tried again', async () => {
    const webhook = await kept(startReceiver());
    const outcome = await clientWith({ resolve }).post(requestTo(`https://hook.test:${webhook.port}/`));
    expect(outcome).toMatchObject({ kind: 'failed', error: expect.stringContaining('TLS') });
  });
});
