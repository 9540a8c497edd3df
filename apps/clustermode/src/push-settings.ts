import type { SigningKey } from '@a2a-cluster/cluster';

/** What {@link parseSigningKeys} found: keys, or a sentence that completes `PUSH_SIGNING_KEYS ...`; no secret in it. */
export type SigningKeys = { readonly keys: readonly SigningKey[] } | { readonly problem: string };

/** Reads `id=secret,id=secret`. An id is a short word; a secret may hold `=`. Its length is checked by the library. */
export function parseSigningKeys(text: string): SigningKeys {
  const keys: SigningKey[] = [];
  for (const [at, entry] of text.split(',').entries()) {
    const equals = entry.indexOf('=');
    const id = entry.slice(0, Math.max(equals, 0)).trim();
    const secret = entry.slice(equals + 1).trim();
    if (equals < 1 || secret === '') return { problem: `entry ${at + 1} is not id=secret` };
    if (keys.some((key) => key.id === id)) return { problem: `entry ${at + 1} has the id of another entry` };
    keys.push({ id, secret });
  }
  return { keys };
}
