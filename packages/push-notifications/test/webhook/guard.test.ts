import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  createWebhookAddressPolicy,
  createWebhookClient,
  type WebhookClient,
  type WebhookClientOptions,
} from '../../src/index.js';
import { BAD_ADDRESSES, BAD_NAMES, BAD_URLS, LOOPBACK_SPELLINGS } from './bad-addresses.js';
import { requestTo, startReceiver, type Receiver } from './receiver.js';

const PRIVATE = 'The webhook address is private, loopback or link-local.';

let webhook: Receiver;
let answer: (response: ServerResponse) => void;
const clients: WebhookClient[] = [];

/** Guarded as in production, but for what is given. */
function clientWith(options: Partial<WebhookClientOptions> = {}): WebhookClient {
  const client = createWebhookClient({ policy: createWebhookAddressPolicy(), ...options });
  clients.push(client);
  return client;
}

beforeEach(async () => {
  answer = (response) => void response.end();
  webhook = await startReceiver((response) => answer(response));
});

afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  await webhook.close();
});

/** How many sockets connected while `work` ran. */
async function connectionsDuring(work: () => Promise<unknown>): Promise<number> {
  let connected = 0;
  const count = (): void => void (connected += 1);
  subscribe('undici:client:connected', count);
  await work();
  unsubscribe('undici:client:connected', count);
  return connected;
}

describe('the connection', () => {
  test.each(BAD_ADDRESSES)('is not made to %s, as a host or as one answer of several', async (address) => {
    const host = address.includes(':') ? `[${address}]` : address;
    const client = clientWith({ resolve: async () => ['93.184.216.34', address] });
    const connected = await connectionsDuring(async () => {
      for (const url of [
        `http://${host}/`,
        `https://${host}:8443/`,
        'http://public.test/',
        'https://public.test/',
      ])
        expect(await client.post(requestTo(url))).toEqual({ kind: 'rejected', error: PRIVATE });
    });
    expect(connected).toBe(0);
  });

  test.each([...BAD_NAMES, ...LOOPBACK_SPELLINGS])('is not made to this machine as %s', async (host) => {
    const client = clientWith({ resolve: async () => ['127.0.0.1'] });
    const outcome = await client.post(requestTo(`http://${host}:${webhook.port}/`));
    expect(outcome).toEqual({ kind: 'rejected', error: PRIVATE });
    expect(webhook.connections()).toBe(0);
  });

  test.each(BAD_URLS)('is not made for %j', async (url) => {
    const client = clientWith({ policy: createWebhookAddressPolicy({ allowPrivate: true }) });
    const outcome = await client.post(requestTo(url));
    expect(outcome).toEqual({ kind: 'rejected', error: expect.stringMatching(/^The webhook URL /) });
  });

  test('is not made to a name that led elsewhere when it was checked', async () => {
    const answers = [['93.184.216.34'], ['127.0.0.1']];
    const resolve = async (): Promise<readonly string[]> => answers.shift() ?? ['127.0.0.1'];
    const policy = createWebhookAddressPolicy({ resolve });
    const url = `http://rebinding.test:${webhook.port}/`;
    expect(await policy.checkAtRegistration(url)).toBeNull();
    const client = clientWith({ policy, resolve });
    expect(await client.post(requestTo(url))).toEqual({ kind: 'rejected', error: PRIVATE });
    expect(webhook.connections()).toBe(0);
  });

  test('goes to the very address that was checked: a name is looked up once per connection', async () => {
    const asked: string[] = [];
    const resolve = async (name: string): Promise<readonly string[]> => {
      asked.push(name);
      return asked.length === 1 ? ['127.0.0.1'] : ['127.0.0.2'];
    };
    const checked: string[] = [];
    const policy = {
      checkAddress: ({ host, port, address }: { host: string; port: number; address: string }) => {
        checked.push(`${host} ${port === webhook.port} ${address}`);
        return null;
      },
    };
    const outcome = await clientWith({ policy, resolve }).post(
      requestTo(`http://Hook.TEST:${webhook.port}/`),
    );
    expect(outcome).toEqual({ kind: 'delivered', status: 200 });
    expect(asked).toEqual(['hook.test']);
    expect(checked).toEqual(['hook.test true 127.0.0.1']);
  });

  test.each([
    ['127.0.0.1', '127.0.0.0/8'],
    ['hook.test', 'hook.test'],
    ['a.hook.test', '*.hook.test'],
    ['hook.test', '127.0.0.1'],
  ])('is made to %s where %s is allowed, for its port only where one is named', async (host, entry) => {
    const resolve = async (): Promise<readonly string[]> => ['127.0.0.1'];
    const url = `http://${host}:${webhook.port}/`;
    const post = (allow: string): Promise<unknown> =>
      clientWith({ policy: createWebhookAddressPolicy({ allow: [allow] }), resolve }).post(requestTo(url));
    expect(await post('other.test')).toEqual({ kind: 'rejected', error: PRIVATE });
    expect(await post(entry)).toEqual({ kind: 'delivered', status: 200 });
    if (entry.includes('/')) return;
    expect(await post(`${entry}:${webhook.port}`)).toEqual({ kind: 'delivered', status: 200 });
    expect(await post(`${entry}:${(webhook.port % 65_535) + 1}`)).toEqual({
      kind: 'rejected',
      error: PRIVATE,
    });
  });

  test.each([301, 302, 303, 307, 308])('is not made to where a %d leads', async (status) => {
    const inside = await startReceiver();
    answer = (response) =>
      void response.writeHead(status, { location: `http://127.0.0.1:${inside.port}/admin` }).end();
    const policy = createWebhookAddressPolicy({ allowPrivate: true });
    const outcome = await clientWith({ policy }).post(requestTo(`http://127.0.0.1:${webhook.port}/`));
    expect(outcome).toEqual({ kind: 'rejected', error: expect.stringContaining('not followed') });
    expect([webhook.arrived.length, inside.connections()]).toEqual([1, 0]);
    await inside.close();
  });

  test('knows no proxy of the environment', async () => {
    const proxy = await startReceiver();
    const before = { ...process.env };
    for (const name of ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'NODE_USE_ENV_PROXY'])
      process.env[name] = name.startsWith('NODE') ? '1' : `http://127.0.0.1:${proxy.port}`;
    const policy = createWebhookAddressPolicy({ allowPrivate: true });
    const outcome = await clientWith({ policy }).post(requestTo(`http://127.0.0.1:${webhook.port}/`));
    process.env = before;
    expect(outcome.kind).toBe('delivered');
    expect(proxy.connections()).toBe(0);
    await proxy.close();
  });

  test.each<[string, () => Promise<readonly string[]>]>([
    ['does not resolve', () => Promise.reject(new Error('getaddrinfo ENOTFOUND secret.test'))],
    ['has no address', async () => []],
  ])('to a name that %s is tried again', async (_title, resolve) => {
    const outcome = await clientWith({ resolve }).post(requestTo('http://absent.test/?key=s3cret'));
    const error = 'The host of the webhook cannot be resolved.';
    expect(outcome).toEqual({ kind: 'failed', error, retryAfterMs: null });
  });
});
