import { createHmac } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  createWebhookAddressPolicy,
  createWebhookClient,
  signatureHeader,
  verifySignature,
  type SignatureCheck,
  type SigningKey,
} from '../../src/index.js';

const key: SigningKey = { id: 'k1', secret: 'a secret of the receiver' };
const other: SigningKey = { id: 'k2', secret: 'another, of 16 bytes' };
const now = 1_900_000_000;
const signable = { id: 't:1:c', body: '{"text":"Zürich"}', nowSeconds: now };

function check(more: Partial<SignatureCheck> = {}): boolean {
  const header = signatureHeader({ keys: [key], ...signable });
  return verifySignature({ keys: [key], header, ...signable, ...more });
}

describe('a signature', () => {
  test('is the HMAC-SHA-256 of id, time and body', () => {
    const hex = createHmac('sha256', key.secret).update(`t:1:c.${now}.${signable.body}`).digest('hex');
    expect(signatureHeader({ keys: [key], ...signable })).toBe(`t=${now},v1=k1:${hex}`);
    expect(check()).toBe(true);
    expect(check({ body: Buffer.from(signable.body) })).toBe(true);
  });

  test('by several keys holds for a receiver that has one of them', () => {
    const header = signatureHeader({ keys: [other, key], ...signable });
    expect(check({ header })).toBe(true);
    expect(check({ header, keys: [other] })).toBe(true);
    expect(check({ header, keys: [{ id: 'k3', secret: other.secret }, other] })).toBe(true);
    expect(check({ header, keys: [{ id: 'k3', secret: other.secret }] })).toBe(false);
    expect(check({ header, keys: [{ id: 'k1', secret: other.secret }] })).toBe(false);
    expect(check({ header, keys: [] })).toBe(false);
  });

  test('holds for 300 seconds either way, or as long as the receiver says', () => {
    for (const off of [0, 300, -300]) expect(check({ nowSeconds: now + off })).toBe(true);
    for (const off of [301, -301]) expect(check({ nowSeconds: now + off })).toBe(false);
    expect(check({ nowSeconds: now + 301, toleranceSeconds: 301 })).toBe(true);
    expect(check({ nowSeconds: now + 1, toleranceSeconds: 0 })).toBe(false);
  });

  test('is compared with the time of this machine', () => {
    const nowSeconds = Math.floor(Date.now() / 1_000);
    const signed = { ...signable, nowSeconds };
    const header = signatureHeader({ keys: [key], ...signed });
    expect(verifySignature({ keys: [key], header, id: signed.id, body: signed.body })).toBe(true);
    const early = signatureHeader({ keys: [key], ...signed, nowSeconds: nowSeconds - 1_000 });
    expect(verifySignature({ keys: [key], header: early, id: signed.id, body: signed.body })).toBe(false);
  });

  test('holds for nothing else: another id, body or time', () => {
    const header = signatureHeader({ keys: [key], ...signable });
    expect(check({ id: 't:2:c' })).toBe(false);
    expect(check({ id: undefined })).toBe(false);
    expect(check({ body: `${signable.body} ` })).toBe(false);
    expect(check({ header: header.replace(`t=${now}`, `t=${now + 1}`) })).toBe(false);
  });

  test.each([
    undefined,
    '',
    't=1',
    `t=${now}`,
    `t=${now},v1=`,
    `t=${now},v1=k1:`,
    `t=${now},v1=k1:00`,
    `t=${now},v1=k1:${'0'.repeat(64)}`,
    `t=${now},v1=k1:${'z'.repeat(64)}`,
    'v1=k1:00,t=',
    ',,,=',
  ])('that reads %j is none', (header) => {
    expect(check({ header })).toBe(false);
  });

  test('without a time, with two of them or with a strange one is none', () => {
    const header = signatureHeader({ keys: [key], ...signable });
    expect(check({ header: header.replace(`t=${now},`, '') })).toBe(false);
    expect(check({ header: `t=${now},${header}` })).toBe(false);
    expect(check({ header: header.replace(`t=${now}`, 't=NaN'), toleranceSeconds: Infinity })).toBe(false);
  });

  test('holds for what was signed and fails after any change of a character', () => {
    const text = fc.string({ unit: 'binary', minLength: 1 }).filter((value) => value.isWellFormed());
    fc.assert(
      fc.property(text, text, fc.nat(), (id, body, at) => {
        const header = signatureHeader({ keys: [key], id, body, nowSeconds: now });
        const index = at % header.length;
        const changed =
          header.slice(0, index) + (header[index] === '0' ? '1' : '0') + header.slice(index + 1);
        expect(check({ header, id, body })).toBe(true);
        expect(check({ header: changed, id, body })).toBe(false);
      }),
    );
  });

  test.each([
    [[{ id: 'k', secret: 'hush, you!' }], /"k" is shorter than 16 bytes/],
    [[{ id: 'k', secret: '' }], /"k" is shorter than 16 bytes/],
    [[key, { ...other, id: key.id }], /"k1" is used twice/],
    [[{ ...key, id: '' }], /id ""/],
    [[{ ...key, id: 'a:b' }], /id "a:b"/],
    [[{ ...key, id: 'a,b' }], /id "a,b"/],
    [[{ ...key, id: 'a'.repeat(65) }], /id "a+"/],
  ])('by keys like %j is refused before anything is sent, without the secret', (signing, message) => {
    const policy = createWebhookAddressPolicy();
    const refused = expect.objectContaining({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(message),
    });
    expect(() => createWebhookClient({ policy, signing })).toThrow(refused);
    expect(() => signatureHeader({ keys: signing, ...signable })).toThrow(refused);
    try {
      signatureHeader({ keys: signing, ...signable });
    } catch (error) {
      for (const { secret } of signing.filter((one) => one.secret !== ''))
        expect(`${String(error)} ${JSON.stringify(error)}`).not.toContain(secret);
    }
  });

  test('by no key is refused', () => {
    expect(() => signatureHeader({ keys: [], ...signable })).toThrow(/needs a key/);
  });
});
