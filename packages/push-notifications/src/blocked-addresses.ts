import { BlockList, isIP } from 'node:net';

/** What no webhook may be at: this network, private, shared, loopback, link-local, protocol, test, multicast, reserved. */
const BLOCKED_IPV4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];

/** Unspecified, loopback and the old form of IPv4 inside IPv6; local NAT64; unique local, link-local, site-local, multicast. */
const BLOCKED_IPV6: readonly (readonly [string, number])[] = [
  ['::', 96],
  ['64:ff9b:1::', 48],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
];

const blocked = createBlockList();

/**
 * Whether an IP address is one that webhooks may not have (protocol 9). An IPv6 address that stands for an IPv4 one
 * (mapped, NAT64, 6to4) is judged as that. What is not an IP address counts as blocked.
 */
export function isBlockedAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 0) return true;
  return blocked.check(address, family === 4 ? 'ipv4' : 'ipv6');
}

function createBlockList(): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of BLOCKED_IPV4) {
    // The list itself judges mapped addresses (::ffff:0:0/96) by these.
    list.addSubnet(network, prefix, 'ipv4');
    list.addSubnet(`64:ff9b::${network}`, 96 + prefix, 'ipv6');
    list.addSubnet(sixToFour(network), 16 + prefix, 'ipv6');
  }
  for (const [network, prefix] of BLOCKED_IPV6) list.addSubnet(network, prefix, 'ipv6');
  return list;
}

function sixToFour(network: string): string {
  const hex = network.split('.').map((byte) => Number(byte).toString(16).padStart(2, '0'));
  return `2002:${hex[0]}${hex[1]}:${hex[2]}${hex[3]}::`;
}
