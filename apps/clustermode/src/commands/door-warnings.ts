import type { Config } from '../config.js';
import { isLoopback } from '../loopback.js';

/** A warning: a sentence for people, and facts, none of them a secret. */
export interface StartWarning {
  readonly facts: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** A token of fewer characters can be guessed by trying. */
const SHORT_TOKEN = 16;
/** A random token of 16 characters has more different ones than this. */
const FEW_CHARACTERS = 6;
const PLACEHOLDER = /change.?me|replace.?me|password|secret|example|default|123456/i;

/** What the doors of a replica let through that may not be meant. No warning shows a token. Pure. */
export function doorWarnings(config: Config): StartWarning[] {
  return [...tokenWarnings(config), ...addressWarnings(config)];
}

function tokenWarnings({ host, grants = [], operator }: Config): StartWarning[] {
  const warnings: StartWarning[] = [];
  const { token } = operator;
  if (token !== undefined && grants.some((grant) => grant.token === token))
    warnings.push({
      facts: {},
      text: 'OPERATOR_TOKEN is also a token of AUTH_TOKENS: that user may do what an operator may. Set another one',
    });
  if (token !== undefined && isWeak(token))
    warnings.push({
      facts: {},
      text: 'OPERATOR_TOKEN can be guessed: make one with `openssl rand -base64 32`',
    });
  const weak = grants.filter((grant) => grant.token.length < SHORT_TOKEN || isWeak(grant.token)).length;
  if (weak > 0 && !isLoopback(host))
    warnings.push({
      facts: { host, tokens: weak },
      text: 'tokens of AUTH_TOKENS can be guessed: use 16 random characters or more, as `openssl rand -base64 32` makes',
    });
  return warnings;
}

function isWeak(token: string): boolean {
  return new Set(token).size < FEW_CHARACTERS || PLACEHOLDER.test(token);
}

function addressWarnings({ host, publicUrl }: Config): StartWarning[] {
  if (publicUrl === undefined) {
    const everywhere = host === '0.0.0.0' || host === '::';
    if (!everywhere) return [];
    const text =
      'PUBLIC_URL is not set: the agent card names localhost, which clients on other machines cannot reach';
    return [{ facts: { host }, text }];
  }
  const url = new URL(publicUrl);
  if (url.protocol === 'https:' || isLoopback(url.hostname)) return [];
  const text =
    'PUBLIC_URL is http: tokens and messages cross the network in clear. Put TLS in front, and name https';
  return [{ facts: { publicUrl }, text }];
}
