import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  errors,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
} from 'jose';
import { ClusterError, createSystemClock, errorText, type Clock, type Logger } from '@a2a-cluster/core';

/** The keys could not be had: nothing can be said about a token. */
export class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable';
}

/** Options of {@link openKeySet}. */
export interface KeySetOptions {
  /** As in `AUTH_JWKS_URL`. */
  readonly jwksUrl: string;
  readonly logger: Logger;
  /** How long after a fetch a key that nobody knows causes no other; default: that of jose, 30 s. */
  readonly cooldownMs?: number;
  /** Default: that of the system. */
  readonly clock?: Clock;
}

/** After a failed fetch, so long requests are answered without another: the other side may be overloaded. */
const REST_MS = 1_000;

/**
 * The keys of a JWKS. Those of a file are read once; those of an address are fetched when the first token comes, every
 * ten minutes, and when a token names a key that nobody knows. Asking for one rejects with {@link KeysUnavailable}
 * when they cannot be fetched, and with an error of jose when none fits.
 * @throws ClusterError `CONFIG_INVALID` for a file that cannot be read or is no key set.
 */
export async function openKeySet(options: KeySetOptions): Promise<JWTVerifyGetKey> {
  const { jwksUrl } = options;
  return jwksUrl.startsWith('file:') ? keysOfFile(jwksUrl) : keysOfAddress(options);
}

async function keysOfFile(jwksUrl: string): Promise<JWTVerifyGetKey> {
  try {
    const file = jwksUrl.startsWith('file://') ? fileURLToPath(jwksUrl) : path.resolve(jwksUrl.slice(5));
    return createLocalJWKSet(JSON.parse(await readFile(file, 'utf8')) as JSONWebKeySet);
  } catch (cause) {
    const message = `AUTH_JWKS_URL names a file that is no readable JSON Web Key Set: ${errorText(cause)}`;
    throw new ClusterError('CONFIG_INVALID', message, { cause });
  }
}

function keysOfAddress(options: KeySetOptions): JWTVerifyGetKey {
  const { jwksUrl, logger, cooldownMs, clock = createSystemClock() } = options;
  const cooldown = cooldownMs === undefined ? {} : { cooldownDuration: cooldownMs };
  const keys = createRemoteJWKSet(new URL(jwksUrl), cooldown);
  let failedAtMs = -Infinity;
  return async (header, token) => {
    if (clock.monotonicMs() - failedAtMs < REST_MS) throw new KeysUnavailable();
    try {
      return await keys(header, token);
    } catch (cause) {
      if (isAboutTheToken(cause)) throw cause;
      failedAtMs = clock.monotonicMs();
      logger.warn({ reason: reasonOf(cause) }, 'the keys that tokens are checked with cannot be fetched');
      throw new KeysUnavailable(undefined, { cause });
    }
  };
}

/** No key fits, more than one does, or there can be none: everything else is about the key set. */
function isAboutTheToken(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSENotSupported
  );
}

/** The platform hides why a fetch failed in the cause. */
function reasonOf(error: unknown): string {
  const { cause } = Object(error) as { readonly cause?: unknown };
  return cause === undefined ? errorText(error) : `${errorText(error)}: ${errorText(cause)}`;
}
