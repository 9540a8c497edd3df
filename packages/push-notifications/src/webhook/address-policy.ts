import { lookup } from 'node:dns/promises';
import { RequestMalformedError } from '@a2a-js/sdk/errors';
import { createSystemClock, sleep } from '@a2a-cluster/core';
import { createAllowList, type AllowList } from './allow-list.js';
import { isBlockedAddress, isBlockedName } from './blocked-addresses.js';
import { parseWebhookUrl, plainHost } from './webhook-url.js';

/** Why a webhook's address is refused: a sentence for the client, which names no address that was found. */
export type AddressRefusal = string;

/** A connection that is about to be made. */
export interface ConnectTarget {
  /** The host of the URL; brackets, upper case and a last dot do not matter. */
  readonly host: string;
  readonly port: number;
  /** The IP address that is about to be connected to. */
  readonly address: string;
}

/** Which addresses webhooks may have (protocol 9). */
export interface WebhookAddressPolicy {
  /**
   * Null: it may be registered. A name that does not resolve now is let through: its addresses are checked again
   * when they are connected to.
   */
  checkAtRegistration(url: string): Promise<AddressRefusal | null>;
  /**
   * Null: this very address may be connected to for this host. Asked with the address that the socket then takes, so
   * that a name that changes between two look-ups gains nothing. Never throws; what is no IP address is refused.
   */
  checkAddress(target: ConnectTarget): AddressRefusal | null;
}

/** Options of {@link createWebhookAddressPolicy}. */
export interface WebhookAddressPolicyOptions {
  /**
   * Allows every address, private, loopback, link-local and those of metadata services; no name is resolved then.
   * For development: `allow` opens no more than is needed. Default false.
   */
  readonly allowPrivate?: boolean;
  /**
   * What is let through although it would be refused: host names (`hooks.corp.example`), all names below one
   * (`*.corp.example`), addresses and CIDR ranges (`10.20.0.0/16`), and `host:port`. A listed name may resolve to any
   * address: list names only whose DNS you trust. Default none.
   */
  readonly allow?: readonly string[];
  /** Every address of a name; rejects when there is none. Default: the system's resolver, as `fetch` uses it. */
  readonly resolve?: ResolveHost;
  /** How long a name may take to resolve; after it, it counts as not resolved. Default 2 000. */
  readonly resolveTimeoutMs?: number;
}

/** Every address of a host name; rejects when there is none. */
export type ResolveHost = (hostname: string) => Promise<readonly string[]>;

const PRIVATE = 'The webhook address is private, loopback or link-local.';

/** What a client is told whose webhook is refused; the reason in its metadata is `WEBHOOK_ADDRESS_REFUSED`. */
export function webhookRefused(refusal: AddressRefusal): RequestMalformedError {
  return new RequestMalformedError({ message: refusal, metadata: { reason: 'WEBHOOK_ADDRESS_REFUSED' } });
}

/**
 * The policy of a server. Holds no state.
 * @throws ClusterError `CONFIG_INVALID` for an entry of `allow` that cannot be read, naming it.
 */
export function createWebhookAddressPolicy(options: WebhookAddressPolicyOptions = {}): WebhookAddressPolicy {
  const { allowPrivate = false, resolve = resolveBySystem, resolveTimeoutMs = 2_000 } = options;
  const allowList = createAllowList(options.allow ?? []);
  const check = async (url: string): Promise<AddressRefusal | null> => {
    const target = parseWebhookUrl(url);
    if (typeof target === 'string') return target;
    if (allowPrivate) return null;
    const { host, port } = target;
    if (target.isAddress) return refusalOf(allowList, { host, port, address: host });
    if (allowList.allowsHost(host, port)) return null;
    const found = (await within(resolveTimeoutMs, resolve(host))) ?? [];
    if (found.length === 0) return isBlockedName(host) ? PRIVATE : null;
    return found.some((address) => refusalOf(allowList, { host, port, address }) !== null) ? PRIVATE : null;
  };
  return {
    checkAtRegistration: check,
    checkAddress: ({ host, port, address }) =>
      allowPrivate ? null : refusalOf(allowList, { host: plainHost(host), port, address }),
  };
}

/** Every address of a name by the system's resolver, in its order. Rejects when there is none. */
export async function resolveBySystem(hostname: string): Promise<readonly string[]> {
  const found = await lookup(hostname, { all: true });
  return found.map(({ address }) => address);
}

function refusalOf(allowList: AllowList, { host, port, address }: ConnectTarget): AddressRefusal | null {
  if (allowList.allowsHost(host, port) || allowList.allowsAddress(address, port)) return null;
  return isBlockedName(host) || isBlockedAddress(address) ? PRIVATE : null;
}

/** Null: failed, or not in time. */
async function within<T>(limitMs: number, work: Promise<T>): Promise<T | null> {
  const done = new AbortController();
  const result = work.then(
    (value) => value,
    () => null,
  );
  const late = sleep({ clock: createSystemClock(), delayMs: limitMs, signal: done.signal }).then(() => null);
  return Promise.race([result, late]).finally(() => done.abort());
}
