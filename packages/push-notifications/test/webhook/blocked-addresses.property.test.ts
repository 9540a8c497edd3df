import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createWebhookAddressPolicy } from '../../src/index.js';

const BLOCKED_IPV4: readonly (readonly [string, number])[] = [
  ...([
    ['0.0.0.0', 8],
    ['10.0.0.0', 8],
    ['100.64.0.0', 10],
    ['127.0.0.0', 8],
    ['169.254.0.0', 16],
  ] as const),
  ...([
    ['172.16.0.0', 12],
    ['192.0.0.0', 24],
    ['192.0.2.0', 24],
    ['192.168.0.0', 16],
    ['198.18.0.0', 15],
  ] as const),
  ...([
    ['198.51.100.0', 24],
    ['203.0.113.0', 24],
    ['224.0.0.0', 4],
    ['240.0.0.0', 4],
  ] as const),
];

const numberOf = (address: string): number =>
  address.split('.').reduce((sum, byte) => sum * 256 + Number(byte), 0);

const blockedIpv4 = fc
  .constantFrom(...BLOCKED_IPV4)
  .chain(([network, bits]) =>
    fc.integer({ min: 0, max: 2 ** (32 - bits) - 1 }).map((host) => numberOf(network) + host),
  );

/** A number in one of the bases that the URL parser reads, with zeros before it. */
const spelled = (value: number): fc.Arbitrary<string> =>
  fc
    .tuple(fc.constantFrom(8, 10, 16), fc.integer({ min: 0, max: 3 }), fc.boolean())
    .map(([base, zeros, upper]) => {
      if (base === 10) return String(value);
      const digits = '0'.repeat(zeros) + value.toString(base);
      if (base === 8) return `0${digits}`;
      return upper ? `0X${digits.toUpperCase()}` : `0x${digits}`;
    });

/** With any number of dots: the last part holds the rest. */
const spelledIpv4 = (value: number): fc.Arbitrary<string> =>
  fc.integer({ min: 0, max: 3 }).chain((dots) => {
    const bytes = [24, 16, 8].slice(0, dots).map((shift) => Math.floor(value / 2 ** shift) % 256);
    const rest = value % 2 ** (32 - 8 * dots);
    return fc.tuple(...[...bytes, rest].map(spelled)).map((parts) => parts.join('.'));
  });

const FULL_WIDTH = new Map([...'0123456789abcdefABCDEFxX.'].map((char) => [char, wide(char)]));

function wide(char: string): string {
  return char === '.' ? '。' : String.fromCodePoint((char.codePointAt(0) ?? 0) + 0xfee0);
}

/** Some characters in full width, or percent-encoded; perhaps rooted. */
const disguised = (host: string): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.array(fc.constantFrom('plain', 'plain', 'wide', 'percent'), {
        minLength: host.length,
        maxLength: host.length,
      }),
      fc.boolean(),
    )
    .map(([forms, rooted]) => {
      const chars = [...host].map((char, index) => {
        if (forms[index] === 'wide') return FULL_WIDTH.get(char) ?? char;
        return forms[index] === 'percent' ? `%${(char.codePointAt(0) ?? 0).toString(16)}` : char;
      });
      return chars.join('') + (rooted ? '.' : '');
    });

const hex = (value: number): string =>
  `${Math.floor(value / 65_536).toString(16)}:${(value % 65_536).toString(16)}`;

const blockedIpv6 = fc.oneof(
  blockedIpv4.chain((value) =>
    fc.constantFrom(
      ...[
        `::ffff:${hex(value)}`,
        `0:0:0:0:0:FFFF:${hex(value)}`,
        `64:ff9b::${hex(value)}`,
        `::${hex(value)}`,
      ],
      ...[`2002:${hex(value)}::1`, `::ffff:0:${hex(value)}`],
    ),
  ),
  fc
    .tuple(
      fc.constantFrom('fc', 'fd', 'fe8', 'fe9', 'fea', 'feb', 'fec', 'fef', 'ff'),
      fc.array(fc.integer({ min: 0, max: 65_535 }), { minLength: 7, maxLength: 7 }),
      fc.boolean(),
    )
    .map(([start, rest, upper]) => {
      const address = [start.padEnd(4, '1'), ...rest.map((part) => part.toString(16))].join(':');
      return upper ? address.toUpperCase() : address;
    }),
);

const port = fc.constantFrom('', ':80', ':8080', ':65535');

describe('every blocked address', () => {
  const policy = createWebhookAddressPolicy({ resolve: () => Promise.reject(new Error('no name at all')) });
  const isRefused = async (host: string, portText: string): Promise<void> => {
    const url = `http://${host}${portText}/hook`;
    expect(await policy.checkAtRegistration(url)).toMatch(/private, loopback or link-local/);
    const parsed = new URL(url).hostname.replace(/[[\]]/g, '').replace(/\.$/, '');
    expect(policy.checkAddress({ host: 'public.test', port: 80, address: parsed })).not.toBeNull();
  };

  test('of IPv4 is refused, however it is spelled', async () => {
    const host = blockedIpv4.chain(spelledIpv4).chain(disguised);
    await fc.assert(fc.asyncProperty(host, port, isRefused), { numRuns: 2_000 });
  });

  test('of IPv6 is refused, however it is spelled', async () => {
    const host = blockedIpv6.map((address) => `[${address}]`);
    await fc.assert(fc.asyncProperty(host, port, isRefused), { numRuns: 2_000 });
  });
});
