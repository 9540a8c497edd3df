import type { IncomingMessage } from 'node:http';
import { isLoopback } from '../loopback.js';

/** What browsers say of a request that no other site had a part in. */
const OWN_SITES: ReadonlySet<string> = new Set(['same-origin', 'none']);

/**
 * Why a request to act may be another site's doing, as a sentence with the way out; undefined: it is not.
 *
 * A browser sends `Origin` with every POST; a tool such as curl sends none. The origin must be the host that the request
 * was sent to. The scheme is not compared: a proxy with the certificate speaks HTTP to us. What a proxy says in
 * `X-Forwarded-Host` is not looked at: whoever reaches us directly could say it too.
 */
export function foreignOrigin(req: IncomingMessage): string | undefined {
  const { origin, host = '', 'sec-fetch-site': site } = req.headers;
  if (typeof site === 'string' && !OWN_SITES.has(site))
    return 'Another site sent this request. Act from the console itself.';
  if (origin === undefined || isHost(origin, host)) return undefined;
  return (
    'The page that sent this request is of another origin than the address it was sent to. Behind a proxy, have it ' +
    'pass the Host header on as the browser sent it.'
  );
}

/**
 * Whether `Host` names this machine: what comes by another name to an address that only this machine reaches comes from
 * a page whose owner had its name point to us.
 */
export function isLoopbackHost(host: string | undefined): boolean {
  if (host === undefined || !URL.canParse(`http://${host}`)) return false;
  return isLoopback(new URL(`http://${host}`).hostname);
}

function isHost(origin: string, host: string): boolean {
  if (!URL.canParse(origin)) return false;
  const { protocol, host: from } = new URL(origin);
  const to = `${protocol}//${host}`;
  return /^https?:$/.test(protocol) && URL.canParse(to) && new URL(to).host === from;
}
