import { describe, expect, test } from '@jest/globals';
import { createWebhookAddressPolicy } from '../../src/index.js';

const names: Readonly<Record<string, readonly string[]>> = {
  'public.test': ['93.184.216.34', '2606:2800:220:1::1'],
  'private.test': ['10.1.2.3'],
  'mixed.test': ['93.184.216.34', '::ffff:192.168.0.1'],
  'empty.test': [],
};

const policy = createWebhookAddressPolicy({
  resolve: async (name) => names[name] ?? Promise.reject(new Error('ENOTFOUND')),
});

describe('the address policy', () => {
  test.each([
    'https://93.184.216.34/hook',
    'http://[2606:2800:220:1::1]:8080/',
    'https://public.test/hook?token=x#y',
    'https://public.test./',
    'https://PUBLIC.test/',
    'http://[::ffff:93.184.216.34]/',
    'http://[64:ff9b::5db8:d822]/',
    'http://172.32.0.1/',
    'http://100.128.0.1/',
  ])('lets %s through at registration and at send', async (url) => {
    expect(await policy.checkAtRegistration(url)).toBeNull();
    expect(await policy.checkAtSend(url)).toBeNull();
  });

  test.each([
    'http://127.0.0.1/',
    'http://127.0.0.1.:80/',
    'http://127.1/',
    'http://2130706433/',
    'http://0x7f000001/',
    'http://0177.0.0.1/',
    'http://0.0.0.0:8080/',
    'http://0/',
    'http://10.0.0.8/',
    'http://172.16.0.1/',
    'http://172.31.255.255/',
    'http://192.168.1.1/',
    'http://169.254.169.254/latest/meta-data',
    'http://100.64.0.1/',
    'http://198.18.0.1/',
    'http://224.0.0.1/',
    'http://255.255.255.255/',
    'http://[::]/',
    'http://[::1]/',
    'http://[::127.0.0.1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:a00:1]/',
    'http://[0:0:0:0:0:ffff:7f00:1]/',
    'http://[64:ff9b::7f00:1]/',
    'http://[64:ff9b:1::1]/',
    'http://[2002:7f00:1::]/',
    'http://[2002:c0a8:101::1]/',
    'http://[fc00::1]/',
    'http://[fd12:3456::1]/',
    'http://[fe80::1]/',
    'http://[ff02::1]/',
    'http://localhost:3000/',
    'http://LOCALHOST./',
    'http://a.b.localhost/',
    'http://１２７.0.0.1/',
    'https://private.test/',
    'https://mixed.test/',
  ])('refuses %s at registration and at send', async (url) => {
    expect(await policy.checkAtRegistration(url)).toMatch(/private, loopback or link-local/);
    expect(await policy.checkAtSend(url)).toMatch(/private, loopback or link-local/);
  });

  test.each([
    '',
    'hook',
    '//public.test/',
    'ftp://public.test/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'http://',
    'http://user:secret@public.test/',
    'http://public.test/\n',
    ' http://public.test/',
    'http://public.test/a b',
    'http://public.test/\u0000',
    'http://public.test/\ud800',
    'http://300.1.1.1/',
  ])('refuses %j as no address at all, also where private ones are allowed', async (url) => {
    const open = createWebhookAddressPolicy({ allowPrivate: true });
    expect(await policy.checkAtRegistration(url)).toMatch(/^The webhook URL /);
    expect(await open.checkAtRegistration(url)).toMatch(/^The webhook URL /);
    expect(await open.checkAtSend(url)).toMatch(/^The webhook URL /);
  });

  test.each(['https://absent.test/', 'https://empty.test/'])(
    'lets %s be registered while it does not resolve, but not be connected to',
    async (url) => {
      expect(await policy.checkAtRegistration(url)).toBeNull();
      expect(await policy.checkAtSend(url)).toMatch(/cannot be resolved/);
    },
  );

  test('does not wait for a resolver that hangs', async () => {
    const hanging = createWebhookAddressPolicy({
      resolve: () => new Promise(() => {}),
      resolveTimeoutMs: 20,
    });
    const work = Promise.all([
      hanging.checkAtRegistration('https://slow.test/'),
      hanging.checkAtSend('https://slow.test/'),
      // The policy's own timers keep no process alive.
      new Promise((resolve) => setTimeout(resolve, 100)),
    ]);
    expect((await work).slice(0, 2)).toEqual([null, expect.stringMatching(/cannot be resolved/)]);
  });

  test('asks no resolver where private addresses are allowed', async () => {
    const open = createWebhookAddressPolicy({
      allowPrivate: true,
      resolve: () => Promise.reject(new Error('was asked')),
    });
    for (const url of ['http://127.0.0.1:1/', 'http://localhost/', 'http://[::1]/', 'https://absent.test/']) {
      expect(await open.checkAtRegistration(url)).toBeNull();
      expect(await open.checkAtSend(url)).toBeNull();
    }
  });
});
