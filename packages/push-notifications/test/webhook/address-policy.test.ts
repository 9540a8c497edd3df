import { describe, expect, jest, test } from '@jest/globals';
import { createWebhookAddressPolicy, MAX_WEBHOOK_URL_BYTES } from '../../src/index.js';
import { BAD_ADDRESSES, BAD_NAMES, BAD_URLS, LOOPBACK_SPELLINGS } from './bad-addresses.js';

const names: Readonly<Record<string, readonly string[]>> = {
  'public.test': ['93.184.216.34', '2606:2800:220:1::1'],
  'private.test': ['10.1.2.3'],
  'mixed.test': ['93.184.216.34', '::ffff:192.168.0.1'],
  'scoped.test': ['fe80::1%eth0'],
  'nonsense.test': ['93.184.216.34', 'what?'],
  'short.test': ['127.1'],
  'empty.test': [],
};

const resolve = async (name: string): Promise<readonly string[]> =>
  names[name] ?? Promise.reject(new Error('ENOTFOUND'));
const policy = createWebhookAddressPolicy({ resolve });
const PRIVATE = 'The webhook address is private, loopback or link-local.';

const urlOf = (address: string): string => `http://${address.includes(':') ? `[${address}]` : address}/hook`;

describe('the address policy', () => {
  test.each([
    'https://93.184.216.34/hook',
    'http://[2606:2800:220:1::1]:8080/',
    'https://public.test/hook?token=x#y',
    'https://public.test./',
    'https://PUBLIC.test/',
    'HTTPS://public.test/@user',
    'https://public.test/?to=a@b.test',
    'https://public.test:65535/',
    'http://[::ffff:93.184.216.34]/',
    'http://[64:ff9b::5db8:d822]/',
    'http://172.32.0.1/',
    'http://172.15.255.255/',
    'http://11.0.0.0/',
    'http://100.128.0.1/',
    'http://100.63.255.255/',
    'http://169.253.255.255/',
    'http://223.255.255.255/',
  ])('lets %s through at registration', async (url) => {
    expect(await policy.checkAtRegistration(url)).toBeNull();
  });

  test.each(BAD_ADDRESSES)('refuses %s as a host, as an answer and at the connection', async (address) => {
    expect(await policy.checkAtRegistration(urlOf(address))).toBe(PRIVATE);
    const named = createWebhookAddressPolicy({ resolve: async () => ['93.184.216.34', address] });
    expect(await named.checkAtRegistration('https://public.test/')).toBe(PRIVATE);
    expect(policy.checkAddress({ host: 'public.test', port: 443, address })).toBe(PRIVATE);
  });

  test.each([
    ...BAD_NAMES,
    ...LOOPBACK_SPELLINGS,
    'private.test',
    'mixed.test',
    'scoped.test',
    'nonsense.test',
    'short.test',
  ])('refuses the host %s', async (host) => {
    for (const url of [`http://${host}/`, `https://${host}:8443/x?y#z`]) {
      expect(await policy.checkAtRegistration(url)).toBe(PRIVATE);
    }
  });

  test.each(BAD_NAMES.filter((name) => !name.includes('%')))(
    'refuses the name %s at the connection, wherever it leads',
    (host) => {
      const at = { host: host.normalize('NFKC'), port: 80, address: '93.184.216.34' };
      expect(policy.checkAddress(at)).toBe(PRIVATE);
    },
  );

  test.each(['', 'what?', '127.1', '0x7f.0.0.1', '93.184.216.34 ', '93.184.216', '1.1.1.1.1'])(
    'refuses to connect to %j, which is no address',
    (address) => {
      expect(policy.checkAddress({ host: 'public.test', port: 80, address })).toBe(PRIVATE);
    },
  );

  test.each(BAD_URLS)('refuses %j as no address at all, also where private ones are allowed', async (url) => {
    const open = createWebhookAddressPolicy({ allowPrivate: true });
    expect(await policy.checkAtRegistration(url)).toMatch(/^The webhook URL /);
    expect(await open.checkAtRegistration(url)).toMatch(/^The webhook URL /);
  });

  test('takes URLs of 2 048 bytes and no longer ones', async () => {
    const start = 'https://public.test/';
    const path = 'é'.repeat((MAX_WEBHOOK_URL_BYTES - start.length) / 2);
    expect(await policy.checkAtRegistration(start + path)).toBeNull();
    expect(await policy.checkAtRegistration(`${start}${path}x`)).toMatch(/longer than 2048 bytes/);
  });

  test('names no address and no host in a refusal', async () => {
    const refusals = await Promise.all(
      ['http://10.1.2.3/', 'https://private.test/', 'https://absent.test/', 'http://a:b@10.1.2.3/'].map(
        (url) => policy.checkAtRegistration(url),
      ),
    );
    expect(refusals.join()).not.toMatch(/\d|\.test/);
  });

  test.each(['https://absent.test/', 'https://empty.test/'])(
    'lets %s be registered while it does not resolve',
    async (url) => {
      expect(await policy.checkAtRegistration(url)).toBeNull();
    },
  );

  test('does not wait for a resolver that hangs', async () => {
    const hanging = createWebhookAddressPolicy({
      resolve: () => new Promise(() => {}),
      resolveTimeoutMs: 20,
    });
    const work = Promise.all([
      hanging.checkAtRegistration('https://slow.test/'),
      // The policy's own timers keep no process alive.
      new Promise((resolve) => setTimeout(resolve, 100)),
    ]);
    expect((await work)[0]).toBeNull();
  });

  test('asks no resolver where private addresses are allowed', async () => {
    const asked = jest.fn<() => Promise<string[]>>().mockRejectedValue(new Error('was asked'));
    const open = createWebhookAddressPolicy({ allowPrivate: true, resolve: asked });
    for (const url of ['http://127.0.0.1:1/', 'http://localhost/', 'http://[::1]/', 'https://absent.test/']) {
      expect(await open.checkAtRegistration(url)).toBeNull();
    }
    expect(open.checkAddress({ host: 'localhost', port: 1, address: '127.0.0.1' })).toBeNull();
    expect(asked).not.toHaveBeenCalled();
  });
});
