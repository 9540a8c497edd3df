import { z } from 'zod';
import { BEARER_TOKEN } from './auth-tokens.js';
import { jwksUrl, jwtAlgorithms } from './auth/jwt-settings.js';
import { of, wholeNumber } from './setting-values.js';

/** The settings about who may come in, and by which door, by variable. */
export const doorSettings = {
  AUTH_JWKS_URL: of(
    jwksUrl(),
    'keys that JSON Web Tokens are checked with: https, or file: and a path',
    'no JWT',
  ),
  AUTH_JWT_ISSUER: of(someText(), 'issuer that a JWT must name', 'required with AUTH_JWKS_URL'),
  AUTH_JWT_AUDIENCE: of(someText(), 'audience that a JWT must name', 'required with AUTH_JWKS_URL'),
  AUTH_JWT_USER_CLAIM: of(someText(), 'claim of a JWT that names the user', 'sub'),
  AUTH_JWT_TENANT_CLAIM: of(someText(), 'claim of a JWT that names the tenant', 'tenant'),
  AUTH_JWT_ALGORITHMS: of(jwtAlgorithms(), 'signatures that are taken', 'RS256,PS256,ES256,EdDSA'),
  OPERATOR_PORT: of(wholeNumber(0, 65_535), 'port for the routes of the operator', 'they are on PORT'),
  OPERATOR_HOST: of(z.string(), 'address that OPERATOR_PORT listens on', '127.0.0.1'),
  OPERATOR_TOKEN: of(operatorToken(), 'Bearer token that the routes of the operator want', 'none'),
  CONSOLE_TOKEN: of(
    operatorToken(),
    'Bearer token that opens the console, and acting in it to nobody else',
    'that of OPERATOR_TOKEN',
  ),
};

function someText(): z.ZodType<string, string> {
  return z.string().min(1, 'must not be empty');
}

function operatorToken(): z.ZodType<string, string> {
  const message = 'must be at least 16 characters that a Bearer token can have';
  return z.string().refine((text) => text.length >= 16 && BEARER_TOKEN.test(text), message);
}
