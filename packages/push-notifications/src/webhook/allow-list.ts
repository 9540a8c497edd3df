import { isIP } from 'node:net';
import { ClusterError } from '@a2a-cluster/core';
import ipaddr from 'ipaddr.js';
import { parseAddress } from './blocked-addresses.js';
import { plainHost } from './webhook-url.js';

/** What an operator lets through although it would be refused. */
export interface AllowList {
  /** Whether the name itself is listed: whatever it resolves to is allowed then. */
  allowsHost(host: string, port: number): boolean;
  /** Whether the address is listed, or lies in a listed range. */
  allowsAddress(address: string, port: number): boolean;
}

interface Rule {
  /** Null: any port. */
  readonly port: number | null;
  matchesHost(host: string): boolean;
  matchesAddress(address: ipaddr.IPv4 | ipaddr.IPv6): boolean;
}

/**
 * Reads the entries: a host name (`hooks.example.com`), every name below one (`*.example.com`, not the name itself),
 * an address or a CIDR range, and a name or an address with a port (`localhost:3000`, `[::1]:3000`). A range holds for
 * every port.
 * @throws ClusterError `CONFIG_INVALID` naming the entry.
 */
export function createAllowList(entries: readonly string[]): AllowList {
  const rules = entries.map(ruleOf);
  const at = (port: number): Rule[] => rules.filter((rule) => rule.port === null || rule.port === port);
  return {
    allowsHost: (host, port) => at(port).some((rule) => rule.matchesHost(host)),
    allowsAddress(address, port) {
      if (rules.length === 0) return false;
      const parsed = parseAddress(address);
      return parsed !== null && at(port).some((rule) => rule.matchesAddress(parsed));
    },
  };
}

function ruleOf(entry: string): Rule {
  if (ipaddr.IPv4.isValidCIDRFourPartDecimal(entry) || ipaddr.IPv6.isValidCIDR(entry)) {
    const [network, bits] = ipaddr.parseCIDR(entry);
    // A range of mapped addresses: they are compared as IPv4, so it would never hold.
    if (network.kind() !== parseAddress(network.toString())?.kind()) throw invalid(entry);
    return rangeRule([network, bits], null);
  }
  // An IPv6 address without brackets: its colons are no ports.
  if (isIP(entry) === 6) return addressRule(entry, null);
  const [, wildcard = '', host = '', portText] =
    /^(\*\.)?(\[[^[\]]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(entry) ?? [];
  const port = portText === undefined ? null : Number(portText);
  const name = hostOf(host);
  if (name === null || port === 0 || (port ?? 0) > 65_535) throw invalid(entry);
  if (isIP(name) !== 0) {
    if (wildcard !== '') throw invalid(entry);
    return addressRule(name, port);
  }
  const matchesHost = (asked: string): boolean =>
    wildcard === '' ? asked === name : asked.endsWith(`.${name}`);
  return { port, matchesHost, matchesAddress: () => false };
}

function addressRule(address: string, port: number | null): Rule {
  const parsed = parseAddress(address);
  if (parsed === null) throw invalid(address);
  return rangeRule([parsed, parsed.kind() === 'ipv4' ? 32 : 128], port);
}

function rangeRule([network, bits]: [ipaddr.IPv4 | ipaddr.IPv6, number], port: number | null): Rule {
  const matchesAddress = (address: ipaddr.IPv4 | ipaddr.IPv6): boolean =>
    address.kind() === network.kind() && address.match(network, bits);
  return { port, matchesHost: () => false, matchesAddress };
}

/** As the URL parser writes it, so that an entry and a URL in different spellings meet; null when it is no host. */
function hostOf(text: string): string | null {
  if (text === '' || /[\s/?#@\\*%]/.test(text) || !URL.canParse(`http://${text}/`)) return null;
  const host = plainHost(new URL(`http://${text}/`).hostname);
  return host.split('.').includes('') ? null : host;
}

function invalid(entry: string): ClusterError {
  const wanted = 'a host name, *.domain, an address, a CIDR range or host:port';
  return new ClusterError(
    'CONFIG_INVALID',
    `the webhook allow entry ${JSON.stringify(entry)} is not ${wanted}`,
    {
      details: { entry },
    },
  );
}
