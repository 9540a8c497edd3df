import { describe, expect, test } from '@jest/globals';
import { createWebhookAddressPolicy } from '../../src/index.js';

/** Whether a URL may be registered, and connected to at the address (of every name) that the resolver gives. */
async function isAllowed(allow: readonly string[], url: string, address = '10.1.2.3'): Promise<boolean> {
  const policy = createWebhookAddressPolicy({ allow, resolve: async () => [address] });
  const { hostname: host, port } = new URL(url);
  const literal = /^[[\d]/.test(host);
  const target = { host, port: Number(port || 80), address: literal ? host.replace(/[[\]]/g, '') : address };
  const answers = [await policy.checkAtRegistration(url), policy.checkAddress(target)];
  const allowed = answers.filter((answer) => answer === null).length;
  if (allowed !== 0 && allowed !== answers.length) throw new Error(`they differ: ${answers.join()}`);
  return allowed > 0;
}

describe('the allow list', () => {
  test.each([
    ['hooks.corp', 'http://hooks.corp/'],
    ['Hooks.Corp.', 'http://hooks.corp:8080/'],
    ['bücher.corp', 'http://xn--bcher-kva.corp/'],
    ['*.corp', 'http://a.b.corp/'],
    ['*.corp:8080', 'http://a.corp:8080/'],
    ['localhost', 'http://localhost/'],
    ['localhost:3000', 'http://localhost:3000/'],
    ['hooks.corp:80', 'http://hooks.corp/'],
    ['*.svc.cluster.local', 'http://hook.default.svc.cluster.local/'],
    ['metadata.google.internal', 'http://metadata.google.internal/'],
    ['10.0.0.0/8', 'http://10.1.2.3/'],
    ['10.0.0.0/8', 'http://hooks.corp/'],
    ['10.0.0.0/8', 'http://hook.default.svc.cluster.local/'],
    ['10.0.0.0/8', 'http://localhost/'],
    ['10.1.2.3', 'http://10.1.2.3:99/'],
    ['10.1.2.3', 'http://hooks.corp/'],
    ['10.1.2.3:99', 'http://10.1.2.3:99/'],
    ['127.0.0.1', 'http://0x7f.1/'],
    ['127.0.0.1', 'http://[::ffff:127.0.0.1]/'],
    ['[::1]:99', 'http://[::1]:99/'],
    ['::1', 'http://[::1]/'],
    ['[::1]', 'http://[::1]/'],
    ['fd00::/8', 'http://[fd12::1]/'],
    ['0.0.0.0/0', 'http://169.254.169.254/'],
  ])('%s lets %s through', async (entry, url) => {
    expect(await isAllowed([], url)).toBe(false);
    expect(await isAllowed(['other.corp', entry], url)).toBe(true);
  });

  test.each([
    ['hooks.corp', 'http://other.corp/'],
    ['hooks.corp', 'http://a.hooks.corp/'],
    ['hooks.corp', 'http://xhooks.corp/'],
    ['*.corp', 'http://corp/'],
    ['*.corp', 'http://xcorp/'],
    ['*.corp:8080', 'http://a.corp/'],
    ['localhost:3000', 'http://localhost/'],
    ['localhost:3000', 'http://localhost:3001/'],
    ['10.0.0.0/8', 'http://11.0.0.1.corp/'],
    ['10.0.0.0/8', 'http://127.0.0.1/'],
    ['10.0.0.0/8', 'http://localhost/'],
    ['10.1.2.3:99', 'http://10.1.2.3/'],
    ['10.1.2.3:99', 'http://10.1.2.3:98/'],
    ['fd00::/8', 'http://[fc00::1]/'],
    ['0.0.0.0/0', 'http://[::1]/'],
    ['::/0', 'http://127.0.0.1/'],
  ])('%s does not let %s through', async (entry, url) => {
    expect(await isAllowed([entry], url, '127.0.0.1')).toBe(false);
  });

  test('a range lets a name through only if it holds each of its addresses', async () => {
    const policy = createWebhookAddressPolicy({
      allow: ['10.0.0.0/8'],
      resolve: async () => ['10.1.2.3', '192.168.0.1'],
    });
    expect(await policy.checkAtRegistration('http://hooks.corp/')).not.toBeNull();
  });

  test('a range lets no name through that does not resolve into it', async () => {
    const policy = createWebhookAddressPolicy({
      allow: ['10.0.0.0/8'],
      resolve: () => Promise.reject(new Error('ENOTFOUND')),
    });
    expect(await policy.checkAtRegistration('http://metadata.google.internal/')).not.toBeNull();
    expect(await policy.checkAtRegistration('http://hooks.corp/')).toBeNull();
  });

  test.each([
    '',
    ' ',
    '*',
    '*.',
    '**.corp',
    'a.*.corp',
    'a b',
    'http://hooks.corp',
    'hooks.corp/',
    'hooks.corp/path',
    'user@hooks.corp',
    'hooks.corp:',
    'hooks.corp:0',
    'hooks.corp:65536',
    'hooks.corp:x',
    '.corp',
    'hooks..corp',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0/8',
    '010.0.0.0/8',
    '0x0a.0.0.0/8',
    '::/129',
    '::ffff:10.0.0.0/104',
    '*.10.0.0.1',
    '[10.0.0.1]',
    '[::1',
    '300.1.1.1',
  ])('refuses the entry %j by name', (entry) => {
    expect(() => createWebhookAddressPolicy({ allow: ['fine.corp', entry] })).toThrow(
      expect.objectContaining({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining(JSON.stringify(entry)),
      }),
    );
  });
});
