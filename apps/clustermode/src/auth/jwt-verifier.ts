import { errors, jwtVerify, type JWTPayload } from 'jose';
import { isStorableName, type Logger } from '@a2a-cluster/core';
import type { Principal } from './principal.js';
import type { JwtConfig } from './jwt-settings.js';
import { KeysUnavailable, openKeySet, type KeySetOptions } from './key-set.js';

/** What came of a token. `detail` is for the audit line, never for the client. */
export type JwtOutcome =
  | { readonly is: 'valid'; readonly principal: Principal }
  | { readonly is: 'invalid' | 'forbidden' | 'unavailable'; readonly detail: string };

/** Checks JSON Web Tokens. */
export interface JwtVerifier {
  /** Never rejects. */
  verify(token: string): Promise<JwtOutcome>;
}

/** Options of {@link createJwtVerifier}. */
export interface JwtVerifierOptions extends Pick<KeySetOptions, 'cooldownMs' | 'clock'> {
  readonly config: JwtConfig;
  readonly logger: Logger;
}

/** How far the clocks of an issuer and of a replica may be apart. */
const TOLERANCE_S = 30;
/** No token that is worth a signature check is longer. */
const MAX_TOKEN_CHARS = 8 * 1024;
/** The names for what was wrong, by the codes of jose. */
const DETAILS: Readonly<Record<string, string>> = {
  ERR_JWT_EXPIRED: 'TOKEN_EXPIRED',
  ERR_JWT_CLAIM_VALIDATION_FAILED: 'CLAIM_REFUSED',
  ERR_JOSE_ALG_NOT_ALLOWED: 'ALGORITHM_REFUSED',
  ERR_JWKS_NO_MATCHING_KEY: 'KEY_UNKNOWN',
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: 'KEY_AMBIGUOUS',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'SIGNATURE_WRONG',
};

/**
 * A verifier for the tokens of one issuer: signature, issuer, audience, and times within 30 s. A token without an
 * expiry is refused: it could never be taken back.
 * @throws ClusterError `CONFIG_INVALID` when the keys of a file cannot be read.
 */
export async function createJwtVerifier(options: JwtVerifierOptions): Promise<JwtVerifier> {
  const { config, logger, cooldownMs, clock } = options;
  const keys = await openKeySet({
    ...{ jwksUrl: config.jwksUrl, logger },
    ...(cooldownMs === undefined ? {} : { cooldownMs }),
    ...(clock === undefined ? {} : { clock }),
  });
  const rules = {
    issuer: config.issuer,
    audience: config.audience,
    algorithms: [...config.algorithms],
    clockTolerance: TOLERANCE_S,
    requiredClaims: ['exp'],
  };
  return {
    async verify(token) {
      if (token.length > MAX_TOKEN_CHARS) return { is: 'invalid', detail: 'TOKEN_TOO_LONG' };
      try {
        const { payload } = await jwtVerify(token, keys, rules);
        return principalOf(payload, config);
      } catch (error) {
        if (error instanceof KeysUnavailable) return { is: 'unavailable', detail: 'KEYS_UNAVAILABLE' };
        return { is: 'invalid', detail: detailOf(error) };
      }
    },
  };
}

/** Whether a token has the form of a signed JWT. */
export function looksLikeJwt(token: string): boolean {
  return /^[\w-]+\.[\w-]+\.[\w-]*$/.test(token);
}

function detailOf(error: unknown): string {
  if (!(error instanceof errors.JOSEError)) return 'KEY_UNUSABLE';
  const detail = DETAILS[error.code] ?? 'TOKEN_MALFORMED';
  return error instanceof errors.JWTClaimValidationFailed ? `${detail}:${error.claim}` : detail;
}

/** A token names its user; whom the database could not keep apart from others is let in under no name. */
function principalOf(payload: JWTPayload, { userClaim, tenantClaim }: JwtConfig): JwtOutcome {
  const claim = (name: string): unknown => (Object.hasOwn(payload, name) ? payload[name] : undefined);
  const user = claim(userClaim);
  const tenant = claim(tenantClaim) ?? '';
  if (typeof user !== 'string' || user === '') return { is: 'invalid', detail: 'USER_MISSING' };
  if (!isStorableName(user)) return { is: 'forbidden', detail: 'USER_UNUSABLE' };
  if (typeof tenant !== 'string' || !isStorableName(tenant))
    return { is: 'forbidden', detail: 'TENANT_UNUSABLE' };
  return { is: 'valid', principal: { isAuthenticated: true, userName: user, tenant } };
}
