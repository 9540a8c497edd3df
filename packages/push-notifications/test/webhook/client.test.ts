import { afterEach, describe, expect, test } from '@jest/globals';
import {
  createWebhookAddressPolicy,
  createWebhookClient,
  verifySignature,
  type WebhookClient,
  type WebhookClientOptions,
} from '../../src/index.js';
import { requestTo, startReceiver, type Receiver } from './receiver.js';

const closing: (() => Promise<void>)[] = [];
const policy = createWebhookAddressPolicy({ allow: ['127.0.0.0/8'] });

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

function clientWith(options: Partial<WebhookClientOptions> = {}): WebhookClient {
  const client = createWebhookClient({ policy, ...options });
  closing.push(() => client.close());
  return client;
}

async function receiver(...parts: Parameters<typeof startReceiver>): Promise<Receiver & { url: string }> {
  const started = await startReceiver(...parts);
  closing.push(() => started.close());
  return { ...started, url: `http://127.0.0.1:${started.port}/hook?key=s3cret` };
}

describe('an attempt', () => {
  test('posts the body with its headers over connections that are kept', async () => {
    const webhook = await receiver();
    const client = clientWith();
    const request = requestTo(webhook.url, {
      body: '{"text":"Zürich"}',
      contentType: 'application/a2a+json',
      notificationId: 't%2F%C3%B6:7:c',
      headers: { Authorization: 'Bearer abc' },
    });
    for (let count = 0; count < 10; count += 1)
      expect(await client.post(request)).toEqual({ kind: 'delivered', status: 200 });
    expect(webhook.arrived[2]).toEqual({
      method: 'POST',
      path: '/hook?key=s3cret',
      body: '{"text":"Zürich"}',
      headers: {
        host: `127.0.0.1:${webhook.port}`,
        connection: 'keep-alive',
        'content-type': 'application/a2a+json',
        'content-length': '18',
        'user-agent': 'a2a-cluster',
        'a2a-notification-id': 't%2F%C3%B6:7:c',
        authorization: 'Bearer abc',
      },
    });
    // Two: a connection is free again one turn of the event loop after its answer.
    expect(webhook.connections()).toBeLessThan(3);
  });

  test('is signed with the time of the attempt by every key', async () => {
    const webhook = await receiver();
    const keys = ['new', 'old'].map((id) => ({ id, secret: `${id}-secret-of-16-bytes` }));
    const request = requestTo(webhook.url);
    await clientWith({ signing: keys }).post(request);
    const [arrived] = webhook.arrived;
    const header = String(arrived?.headers['a2a-signature']);
    expect(header).toMatch(/^t=\d+,v1=new:[0-9a-f]{64},v1=old:[0-9a-f]{64}$/);
    const check = { header, id: request.notificationId, body: arrived?.body ?? '' };
    for (const key of keys)
      expect(verifySignature({ ...check, keys: [key], toleranceSeconds: 5 })).toBe(true);
  });

  const redirect = 'The webhook answers with a redirect';
  test.each([
    [200, 'delivered', undefined],
    [201, 'delivered', undefined],
    [204, 'delivered', undefined],
    [299, 'delivered', undefined],
    [301, 'rejected', `${redirect} (301), which is not followed.`],
    [304, 'rejected', `${redirect} (304), which is not followed.`],
    [307, 'rejected', `${redirect} (307), which is not followed.`],
    [400, 'rejected', 'The webhook answers with status 400.'],
    [401, 'rejected', 'The webhook answers with status 401.'],
    [404, 'rejected', 'The webhook answers with status 404.'],
    [408, 'failed', 'The webhook answers with status 408.'],
    [410, 'gone', 'The webhook answers with status 410.'],
    [413, 'rejected', 'The webhook answers with status 413.'],
    [425, 'failed', 'The webhook answers with status 425.'],
    [429, 'failed', 'The webhook answers with status 429.'],
    [499, 'rejected', 'The webhook answers with status 499.'],
    [500, 'failed', 'The webhook answers with status 500.'],
    [503, 'failed', 'The webhook answers with status 503.'],
    [599, 'failed', 'The webhook answers with status 599.'],
    [999, 'failed', 'The webhook answers with status 999.'],
  ])('answered with %d is %s', async (status, kind, error) => {
    const webhook = await receiver((response) => response.writeHead(status, { location: '/other' }).end());
    const outcome = await clientWith().post(requestTo(webhook.url));
    expect(outcome).toMatchObject(error === undefined ? { kind, status } : { kind, error });
    expect(webhook.arrived).toHaveLength(1);
  });

  test('looks past early hints and other answers that say nothing yet', async () => {
    const webhook = await receiver((response) => {
      response.writeProcessing();
      response.writeEarlyHints({ link: '</a>; rel=preload' });
      response.writeHead(202).end();
    });
    expect(await clientWith().post(requestTo(webhook.url))).toEqual({ kind: 'delivered', status: 202 });
  });

  const hour = 3_600_000;
  test.each<[string | string[] | undefined, number | null]>([
    [undefined, null],
    ['0', 0],
    ['7', 7_000],
    [' 7 ', 7_000],
    ['3601', hour],
    ['99999999999999999999999', hour],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 0],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 0],
    ['Sun Nov  6 08:49:37 1994', 0],
    ['Tue, 01 Jan 2030 00:00:30 GMT', 30_000],
    ['Tuesday, 01-Jan-30 00:00:30 GMT', 30_000],
    ['Tue Jan  1 00:00:30 2030', 30_000],
    ['Wed, 01 Jan 2031 00:00:00 GMT', hour],
    ['Tue, 99 Jan 2030 00:00:30 GMT', null],
    ['2030-01-01T00:00:30Z', null],
    ['-7', null],
    ['1.5', null],
    ['1e3', null],
    ['0x10', null],
    ['7, 8', null],
    ['soon', null],
    ['', null],
    [['7', '8'], null],
  ])('that fails with Retry-After %j waits for %j ms', async (value, expected) => {
    const webhook = await receiver((response) => {
      if (value !== undefined) response.setHeader('Retry-After', value);
      response.writeHead(503).end();
    });
    const clock = {
      monotonicMs: () => 0,
      wallIso: () => '2030-01-01T00:00:00.000Z',
      setTimer: () => ({ cancel: () => {} }),
    };
    const outcome = await clientWith({ clock }).post(requestTo(webhook.url));
    expect(outcome).toMatchObject({ kind: 'failed', retryAfterMs: expected });
  });

  test.each([
    ['a name', { headers: { 'no name': 'x' } }],
    ['a value', { headers: { 'X-A': 'a\r\nX-B: b' } }],
    ['a value beyond Latin-1', { headers: { 'X-A': '漢' } }],
    ['a length of its own', { headers: { 'Content-Length': '1' } }],
    ['an expectation', { headers: { Expect: '100-continue' } }],
    ['an id', { notificationId: 'a\nb' }],
    ['a content type', { contentType: 'a\u0000' }],
  ])('with %s that cannot stand in a header is rejected', async (_title, more) => {
    const webhook = await receiver();
    const outcome = await clientWith().post(requestTo(webhook.url, more));
    expect(outcome).toEqual({ kind: 'rejected', error: expect.stringContaining('cannot be written') });
    expect(webhook.arrived).toEqual([]);
  });

  test('waits for one of the few connections of an origin', async () => {
    const webhook = await receiver((response) => setTimeout(() => response.end(), 20));
    const client = clientWith({ connectionsPerOrigin: 2 });
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => client.post(requestTo(webhook.url))));
    expect(outcomes.map(({ kind }) => kind)).toEqual(Array.from({ length: 10 }, () => 'delivered'));
    expect(webhook.connections()).toBe(2);
  });
});

describe('close', () => {
  test('waits for what is under way, takes nothing more and leaves no connection', async () => {
    let release = (): void => {};
    const webhook = await receiver((response) => (release = () => void response.end()));
    const client = clientWith();
    const posted = client.post(requestTo(webhook.url));
    await webhook.until(() => webhook.arrived.length === 1);
    let closed = false;
    const done = client.close().then(() => (closed = true));
    expect(await client.post(requestTo(webhook.url))).toMatchObject({
      kind: 'failed',
      error: expect.stringContaining('closed'),
    });
    expect(closed).toBe(false);
    release();
    expect(await posted).toEqual({ kind: 'delivered', status: 200 });
    await done;
    await client.close();
    await webhook.until(() => webhook.open() === 0);
    expect(webhook.arrived).toHaveLength(1);
  });
});
