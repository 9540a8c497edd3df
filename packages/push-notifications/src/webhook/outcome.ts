import { errors } from 'undici';
import { RefusedAddressError, UnresolvedHostError } from './guarded-agent.js';
import { parseRetryAfter } from './retry-after.js';

/**
 * How one attempt ended. `error` is a sentence for logs and operators of at most 300 characters, without the URL, the
 * credentials or any address that was found.
 */
export type WebhookOutcome =
  /** Any 2xx; the receiver has it. */
  | { readonly kind: 'delivered'; readonly status: number }
  /**
   * To be tried again, not before `retryAfterMs` (0 to an hour) where the receiver asked for a wait: 5xx, 408, 425,
   * 429, no answer in time, no connection, a name that does not resolve, a certificate that is not trusted.
   */
  | { readonly kind: 'failed'; readonly error: string; readonly retryAfterMs: number | null }
  /**
   * Final for this event: a redirect, any other 4xx, an address that the policy refuses, a request that cannot be
   * written.
   */
  | { readonly kind: 'rejected'; readonly error: string }
  /** 410: the receiver wants nothing any more. */
  | { readonly kind: 'gone'; readonly error: string };

/** The longest `error` of an outcome, in characters. */
export const MAX_ERROR_LENGTH = 300;

/** Statuses below 500 that ask for another try: a time-out, too early, too many. */
const TRY_AGAIN: ReadonlySet<number> = new Set([408, 425, 429]);

/** An answer as far as it decides an outcome. */
export interface WebhookAnswer {
  readonly status: number;
  readonly retryAfter: string | readonly string[] | undefined;
  /** Unix time in milliseconds; asked only for a `Retry-After` that is a date. */
  readonly nowMs: () => number;
}

/** The outcome of an answer, by its status alone. */
export function outcomeOfAnswer({ status, retryAfter, nowMs }: WebhookAnswer): WebhookOutcome {
  if (status >= 200 && status < 300) return { kind: 'delivered', status };
  const error = `The webhook answers with status ${status}.`;
  if (status === 410) return { kind: 'gone', error };
  if (status >= 500 || TRY_AGAIN.has(status))
    return { kind: 'failed', error, retryAfterMs: parseRetryAfter(retryAfter, nowMs) };
  if (status >= 400) return { kind: 'rejected', error };
  return {
    kind: 'rejected',
    error: `The webhook answers with a redirect (${status}), which is not followed.`,
  };
}

/** A failure without a wait of the receiver's. */
export function failed(error: string): WebhookOutcome {
  return { kind: 'failed', error: error.slice(0, MAX_ERROR_LENGTH), retryAfterMs: null };
}

/** Final for this event. */
export function rejected(error: string): WebhookOutcome {
  return { kind: 'rejected', error: error.slice(0, MAX_ERROR_LENGTH) };
}

/**
 * The outcome of an error of the HTTP client. Messages of errors name addresses and what was sent, so none is passed
 * on: only codes are.
 */
export function outcomeOfError(error: unknown): WebhookOutcome {
  if (error instanceof RefusedAddressError) return rejected(error.refusal);
  if (error instanceof UnresolvedHostError) return failed('The host of the webhook cannot be resolved.');
  const code = codeOf(error);
  if (code !== null && UNWRITABLE_CODES.has(code))
    return rejected('The request cannot be written: its headers are not valid.');
  const sentence = error instanceof errors.HTTPParserError ? NOT_HTTP : sentenceOf(code);
  return failed(`${sentence}${code === null ? '' : ` (${code})`}.`);
}

function sentenceOf(code: string | null): string {
  if (code === null) return 'The request failed';
  if (CONNECT_CODES.has(code)) return 'No connection to the webhook';
  if (BROKEN_CODES.has(code)) return 'The connection to the webhook broke';
  if (/^(HPE_|UND_ERR_RES_|UND_ERR_HEADERS_)/.test(code)) return NOT_HTTP;
  if (/CERT|TLS|SSL|ISSUER|SIGNATURE/.test(code) || code === 'EPROTO')
    return 'No trusted TLS connection to the webhook';
  return 'The request failed';
}

const NOT_HTTP = 'The webhook answers with something that is not HTTP or too large';

const UNWRITABLE_CODES: ReadonlySet<string> = new Set([
  'UND_ERR_INVALID_ARG',
  'UND_ERR_NOT_SUPPORTED',
  'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
]);

const CONNECT_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
]);

const BROKEN_CODES: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** By its shape: errors of the platform are no `Error` of ours in every realm. */
function codeOf(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('code' in error)) return null;
  const { code } = error;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,63}$/.test(code) ? code : null;
}
