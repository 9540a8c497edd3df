import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** The token of `Authorization: Bearer`, or an empty text. */
export function bearerOf(req: IncomingMessage): string {
  return /^Bearer +(\S+)$/i.exec(req.headers.authorization ?? '')?.[1] ?? '';
}

/** What a known token stands for. */
export type TokenLookup<Value> = (token: string) => Value | undefined;

/**
 * Finds a token among known ones. Every one is compared in constant time, by digest: how long it takes says nothing
 * about the tokens.
 */
export function tokenLookup<Value>(entries: Iterable<readonly [string, Value]>): TokenLookup<Value> {
  const known = [...entries].map(([token, value]) => ({ digest: digestOf(token), value }));
  return (token) => {
    const digest = digestOf(token);
    let found: Value | undefined;
    for (const entry of known) if (timingSafeEqual(entry.digest, digest)) found = entry.value;
    return found;
  };
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
