import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto';
import { ClusterError, createSystemClock } from '@a2a-cluster/core';

/** A secret that the server and the receivers share. */
export interface SigningKey {
  /** Stands in the header: 1 to 64 letters, digits, `.`, `_` or `-`. */
  readonly id: string;
  /** At least 16 bytes of UTF-8; used as it is. Never logged. */
  readonly secret: string;
}

/** The header with the signatures. */
export const SIGNATURE_HEADER = 'A2A-Signature';

/** The shortest secret, in bytes. */
export const MIN_SECRET_BYTES = 16;

/** What a signature is over. */
export interface Signable {
  /** The value of `A2A-Notification-Id`. */
  readonly id: string;
  /** Exactly as it is sent. */
  readonly body: string | Uint8Array;
  /** Unix time of the attempt, in whole seconds. */
  readonly nowSeconds: number;
}

/** Gives the header of one attempt. */
export type Signer = (what: Signable) => string;

/**
 * Prepares the keys once; null when there is none.
 * @throws ClusterError `CONFIG_INVALID` for a secret that is too short, an id that cannot stand in the header or one
 * that is used twice. It names the id only.
 */
export function createSigner(keys: readonly SigningKey[]): Signer | null {
  if (keys.length === 0) return null;
  checkKeys(keys);
  const prepared = keys.map(({ id, secret }) => ({ id, key: createSecretKey(secret, 'utf8') }));
  return ({ id, body, nowSeconds }) => {
    const signatures = prepared.map(
      (key) => `v1=${key.id}:${digest(key.key, { id, body, nowSeconds }).toString('hex')}`,
    );
    return [`t=${nowSeconds}`, ...signatures].join(',');
  };
}

/**
 * The value of `A2A-Signature`: `t=<Unix seconds>,v1=<key id>:<hex>`, one `v1` per key, each the HMAC-SHA-256 of
 * `<id>.<t>.<body>`.
 * @throws as {@link createSigner}; also when there is no key.
 */
export function signatureHeader(what: Signable & { readonly keys: readonly SigningKey[] }): string {
  const sign = createSigner(what.keys);
  if (sign === null) throw new ClusterError('CONFIG_INVALID', 'a signature needs a key');
  return sign(what);
}

/** What {@link verifySignature} needs. */
export interface SignatureCheck {
  /** The keys the receiver trusts; one that fits is enough. */
  readonly keys: readonly SigningKey[];
  /** The value of `A2A-Signature`, if the request has one. */
  readonly header: string | undefined;
  /** The value of `A2A-Notification-Id`, if the request has one. */
  readonly id: string | undefined;
  /** The bytes of the body as they came, before anything parses them. */
  readonly body: string | Uint8Array;
  /** How far the time of the attempt may be off, either way, in seconds. Default 300. */
  readonly toleranceSeconds?: number;
  /** Default: the time of this machine. */
  readonly nowSeconds?: number;
}

/**
 * Whether a request was signed by one of the keys, for this id and body and not too long ago. For receivers. Takes
 * the same time whichever byte of a signature is wrong. False for whatever is malformed; never throws.
 */
export function verifySignature(check: SignatureCheck): boolean {
  const { keys, header, id, body, toleranceSeconds = 300 } = check;
  if (header === undefined || id === undefined) return false;
  const parts = header.split(',').map((part) => part.trim());
  const times = parts.filter((part) => part.startsWith('t='));
  const seconds = /^t=(\d{1,12})$/.exec(times[0] ?? '')?.[1];
  if (seconds === undefined || times.length !== 1) return false;
  const nowSeconds = check.nowSeconds ?? Date.parse(createSystemClock().wallIso()) / 1_000;
  if (Math.abs(nowSeconds - Number(seconds)) > toleranceSeconds) return false;
  const signed = { id, body, nowSeconds: Number(seconds) };
  return keys.some((key) => key.secret !== '' && parts.some((part) => fits(part, key, signed)));
}

function fits(part: string, key: SigningKey, signed: Signable): boolean {
  const prefix = `v1=${key.id}:`;
  if (!part.startsWith(prefix)) return false;
  const hex = part.slice(prefix.length);
  if (!/^[0-9a-f]{64}$/.test(hex)) return false;
  return timingSafeEqual(Buffer.from(hex, 'hex'), digest(key.secret, signed));
}

function digest(key: KeyObject | string, { id, body, nowSeconds }: Signable): Buffer {
  return createHmac('sha256', key).update(`${id}.${nowSeconds}.`).update(body).digest();
}

function checkKeys(keys: readonly SigningKey[]): void {
  const seen = new Set<string>();
  for (const { id, secret } of keys) {
    const name = JSON.stringify(id);
    if (!/^[A-Za-z0-9._-]{1,64}$/.test(id))
      throw invalid(`the signing key id ${name} is not 1 to 64 letters, digits, ".", "_" or "-"`);
    if (seen.has(id)) throw invalid(`the signing key id ${name} is used twice`);
    if (Buffer.byteLength(secret) < MIN_SECRET_BYTES)
      throw invalid(`the secret of the signing key ${name} is shorter than ${MIN_SECRET_BYTES} bytes`);
    seen.add(id);
  }
}

function invalid(message: string): ClusterError {
  return new ClusterError('CONFIG_INVALID', message);
}
