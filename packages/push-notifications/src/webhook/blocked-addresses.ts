import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** What IPv6 gives out to the internet. Everything else is special, whether or not a list has it yet. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** The well-known prefix of NAT64: a network without IPv4 reaches the whole of it by these. */
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

/** Public by their number, and yet the inside of a cloud: what Azure answers its machines by. */
const INSIDE_CLOUDS: readonly string[] = ['168.63.129.16'];

/** Names of this machine and of metadata services that stand under no reserved domain. */
const BLOCKED_NAMES: ReadonlySet<string> = new Set([
  'localhost',
  'ip6-localhost',
  'ip6-loopback',
  'broadcasthost',
  'instance-data',
  'metadata',
  'metadata.goog',
]);

/** Domains that never belong to the internet (RFC 6761, 6762, 8375; `.internal` is reserved by ICANN). */
const BLOCKED_DOMAINS: readonly string[] = ['localhost', 'localdomain', 'local', 'internal', 'home.arpa'];

/**
 * Whether an IP address is one that webhooks may not have (protocol 9): everything that is not global unicast. An
 * IPv6 address that reaches an IPv4 one (mapped, the well-known prefix of NAT64) is judged as that one; other tunnels
 * (6to4, Teredo, the compatible form) are blocked whole. What is not an IP address counts as blocked.
 */
export function isBlockedAddress(address: string): boolean {
  const parsed = parseAddress(address);
  if (parsed === null) return true;
  if (parsed.range() !== 'unicast') return true;
  if (parsed.kind() === 'ipv6') return !parsed.match(GLOBAL_IPV6);
  return INSIDE_CLOUDS.includes(parsed.toString());
}

/**
 * Whether a host name may not be a webhook's, whatever it resolves to: names of this machine, of local networks and
 * of metadata services. In lower case, without the dot of a rooted name.
 */
export function isBlockedName(host: string): boolean {
  if (BLOCKED_NAMES.has(host)) return true;
  return BLOCKED_DOMAINS.some((domain) => host.endsWith(`.${domain}`));
}

/**
 * The address in the one form in which it is compared; null when it is none. Mapped and NAT64 addresses become the
 * IPv4 address they reach. Short and octal spellings are no addresses here: the URL parser has written them out.
 */
export function parseAddress(address: string): Address | null {
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return ipaddr.IPv4.parse(address);
  if (!ipaddr.IPv6.isValid(address)) return null;
  // The library reads the compatible form `::1.2.3.4` as the mapped one; written otherwise it takes it for what it is.
  const parsed = ipaddr.IPv6.parse(address.replace(/^::(?=\d+\.)/, '::0:'));
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address();
  return parsed.match(NAT64) ? new ipaddr.IPv4(parsed.toByteArray().slice(12)) : parsed;
}
