import { z } from 'zod';
import { isLoopback } from '../loopback.js';

/** How JSON Web Tokens are checked. */
export interface JwtConfig {
  /** Where the keys are: https, http on this machine, or `file:` and a path. */
  readonly jwksUrl: string;
  readonly issuer: string;
  readonly audience: string;
  /** The claim that names the user. */
  readonly userClaim: string;
  /** The claim that names the tenant; a token without it is in the tenant `''`. */
  readonly tenantClaim: string;
  readonly algorithms: readonly string[];
}

/** The settings of JWT as texts and lists that were understood; undefined: not set. */
export interface JwtValues {
  readonly AUTH_JWKS_URL?: string | undefined;
  readonly AUTH_JWT_ISSUER?: string | undefined;
  readonly AUTH_JWT_AUDIENCE?: string | undefined;
  readonly AUTH_JWT_USER_CLAIM?: string | undefined;
  readonly AUTH_JWT_TENANT_CLAIM?: string | undefined;
  readonly AUTH_JWT_ALGORITHMS?: readonly string[] | undefined;
}

/** Only signatures with a public key: a key set is public, so a secret in it would be none. */
const ALGORITHMS: readonly string[] = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
const DEFAULT_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'];
const NAMES = [
  ...(['AUTH_JWKS_URL', 'AUTH_JWT_ISSUER', 'AUTH_JWT_AUDIENCE'] as const),
  ...(['AUTH_JWT_USER_CLAIM', 'AUTH_JWT_TENANT_CLAIM', 'AUTH_JWT_ALGORITHMS'] as const),
];
const REQUIRED = ['AUTH_JWKS_URL', 'AUTH_JWT_ISSUER', 'AUTH_JWT_AUDIENCE'] as const;

/** The check of `AUTH_JWKS_URL`. */
export function jwksUrl(): z.ZodType<string, string> {
  const usable = (text: string): boolean => {
    if (text.startsWith('file:')) return text.length > 'file:'.length;
    if (!URL.canParse(text)) return false;
    const { protocol, hostname, username, password } = new URL(text);
    if (username || password) return false;
    return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
  };
  const message = 'must be an https URL without a user, an http URL of this machine, or file: and a path';
  return z.string().refine(usable, message);
}

/** The check of `AUTH_JWT_ALGORITHMS`. */
export function jwtAlgorithms(): z.ZodType<readonly string[], string> {
  const split = (text: string): string[] => text.split(',').map((word) => word.trim());
  const message = `must be a comma separated list of ${ALGORITHMS.join(', ')}`;
  return z
    .string()
    .refine((text) => split(text).every((word) => ALGORITHMS.includes(word)), message)
    .transform(split);
}

/**
 * The configuration of JWT, or a sentence for each setting that is missing; neither when none is set. `given` says
 * whether a setting has a text, right or wrong: a wrong one is complained of elsewhere.
 */
export function jwtConfigOf(
  values: JwtValues,
  given: (name: keyof JwtValues) => boolean,
): { readonly jwt: JwtConfig | undefined; readonly problems: readonly string[] } {
  const first = NAMES.find(given);
  if (first === undefined) return { jwt: undefined, problems: [] };
  const missing = REQUIRED.filter((name) => !given(name));
  const problems = missing.map((name) => `${name} must be set when ${first} is`);
  const { AUTH_JWKS_URL: url, AUTH_JWT_ISSUER: issuer, AUTH_JWT_AUDIENCE: audience } = values;
  if (url === undefined || issuer === undefined || audience === undefined)
    return { jwt: undefined, problems };
  const jwt = {
    ...{ jwksUrl: url, issuer, audience },
    userClaim: values.AUTH_JWT_USER_CLAIM ?? 'sub',
    tenantClaim: values.AUTH_JWT_TENANT_CLAIM ?? 'tenant',
    algorithms: values.AUTH_JWT_ALGORITHMS ?? DEFAULT_ALGORITHMS,
  };
  return { jwt, problems };
}
