import { isIP } from 'node:net';

/** The longest URL a webhook may have, in bytes of UTF-8. */
export const MAX_WEBHOOK_URL_BYTES = 2_048;

/** A URL that can be posted to, taken apart once. */
export interface WebhookTarget {
  /** Lower case, without the brackets of IPv6 and the dot of a rooted name; numeric IPv4 is written out. */
  readonly host: string;
  /** 1 to 65 535; the one of the scheme where the URL names none. */
  readonly port: number;
  /** Whether the host is an address and no name. */
  readonly isAddress: boolean;
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
}

const NOT_A_URL = 'The webhook URL is not a URL.';

/**
 * Takes a webhook's URL apart, or says why it is none that can be posted to, in a sentence for the client. Stricter
 * than the URL parser where another parser could read another host out of the same text.
 */
export function parseWebhookUrl(url: string): WebhookTarget | string {
  if (Buffer.byteLength(url) > MAX_WEBHOOK_URL_BYTES)
    return `The webhook URL is longer than ${MAX_WEBHOOK_URL_BYTES} bytes.`;
  // Databases and header lines choke on control characters, which the URL parser drops silently. A backslash ends the
  // host for some parsers and not for others.
  // eslint-disable-next-line no-control-regex
  if (/[\u0000-\u0020\u007f\\]/.test(url) || !url.isWellFormed() || !URL.canParse(url)) return NOT_A_URL;
  const parsed = new URL(url);
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:')
    return 'The webhook URL is not http or https.';
  const authority = /^https?:\/\/([^/?#]+)/i.exec(url)?.[1];
  if (authority === undefined) return NOT_A_URL;
  // Also the empty user of `http://@host/`, which the parser drops.
  if (authority.includes('@')) return 'The webhook URL holds a user or a password.';
  return targetOf(parsed);
}

/** A host as it is compared: lower case, without the brackets of IPv6 and the dot of a rooted name. */
export function plainHost(host: string): string {
  return host.startsWith('[') && host.endsWith(']')
    ? host.slice(1, -1)
    : host.toLowerCase().replace(/\.$/, '');
}

/** The port of a URL, its scheme's where it names none. */
export function portOf(url: { readonly protocol: string; readonly port: string }): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}

function targetOf(parsed: URL): WebhookTarget | string {
  const host = plainHost(parsed.hostname);
  if (host.split('.').includes('')) return NOT_A_URL;
  const port = portOf(parsed);
  if (port === 0) return 'The webhook URL names port 0, which no server has.';
  const { origin, pathname, search } = parsed;
  return { host, port, isAddress: isIP(host) !== 0, origin, path: pathname + search };
}
