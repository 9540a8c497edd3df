import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { RequestMalformedError } from '@a2a-js/sdk/errors';
import { createSystemClock, sleep } from '@a2a-cluster/core';
import { isBlockedAddress } from './blocked-addresses.js';

/** Why a webhook's address is refused: a sentence for the client, which names no address that was found. */
export type AddressRefusal = string;

/** Which addresses webhooks may have (protocol 9). */
export interface WebhookAddressPolicy {
  /**
   * Null: it may be registered. A name that does not resolve now is let through: it is asked again before a send.
   */
  checkAtRegistration(url: string): Promise<AddressRefusal | null>;
  /** Null: it may be connected to now. A name must resolve, and to allowed addresses only. */
  checkAtSend(url: string): Promise<AddressRefusal | null>;
}

/** Options of {@link createWebhookAddressPolicy}. */
export interface WebhookAddressPolicyOptions {
  /** Allows private, loopback and link-local addresses; no name is resolved then. Default false. */
  readonly allowPrivate?: boolean;
  /** Every address of a name; rejects when there is none. Default: the system's resolver, as `fetch` uses it. */
  readonly resolve?: (hostname: string) => Promise<readonly string[]>;
  /** How long a name may take to resolve; after it, it counts as not resolved. Default 2 000. */
  readonly resolveTimeoutMs?: number;
}

/** What a client is told whose webhook is refused; the reason in its metadata is `WEBHOOK_ADDRESS_REFUSED`. */
export function webhookRefused(refusal: AddressRefusal): RequestMalformedError {
  return new RequestMalformedError({ message: refusal, metadata: { reason: 'WEBHOOK_ADDRESS_REFUSED' } });
}

const PRIVATE = 'The webhook address is private, loopback or link-local.';
const UNRESOLVED = 'The host of the webhook cannot be resolved.';

/** The policy of a server. Holds no state. */
export function createWebhookAddressPolicy(options: WebhookAddressPolicyOptions = {}): WebhookAddressPolicy {
  const { allowPrivate = false, resolve = resolveBySystem, resolveTimeoutMs = 2_000 } = options;
  const check = async (url: string): Promise<AddressRefusal | 'unresolved' | null> => {
    const parsed = parseWebhook(url);
    if (typeof parsed === 'string') return parsed;
    if (allowPrivate) return null;
    const host = hostOf(parsed);
    if (isIP(host) !== 0) return isBlockedAddress(host) ? PRIVATE : null;
    if (host === 'localhost' || host.endsWith('.localhost')) return PRIVATE;
    const found = await within(resolveTimeoutMs, resolve(host));
    if (found === null || found.length === 0) return 'unresolved';
    return found.some(isBlockedAddress) ? PRIVATE : null;
  };
  return {
    checkAtRegistration: async (url) => {
      const refusal = await check(url);
      return refusal === 'unresolved' ? null : refusal;
    },
    checkAtSend: async (url) => {
      const refusal = await check(url);
      return refusal === 'unresolved' ? UNRESOLVED : refusal;
    },
  };
}

/** The URL, or why it is none that can be posted to. */
function parseWebhook(url: string): URL | AddressRefusal {
  // Databases and header lines choke on control characters, which the URL parser drops silently.
  // eslint-disable-next-line no-control-regex
  if (/[\u0000-\u0020\u007f]/.test(url) || !url.isWellFormed() || !URL.canParse(url))
    return 'The webhook URL is not a URL.';
  const parsed = new URL(url);
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:')
    return 'The webhook URL is not http or https.';
  if (parsed.username || parsed.password) return 'The webhook URL holds a user or a password.';
  return parsed;
}

/** Without the brackets of IPv6 and the dot of a rooted name. Decimal and octal IPv4 is written out by the parser. */
function hostOf(url: URL): string {
  const host = url.hostname;
  return host.startsWith('[') ? host.slice(1, -1) : host.replace(/\.$/, '');
}

async function resolveBySystem(hostname: string): Promise<readonly string[]> {
  const found = await lookup(hostname, { all: true });
  return found.map(({ address }) => address);
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
