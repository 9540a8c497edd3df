import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SignJWT, exportJWK, exportSPKI, generateKeyPair, type JWTPayload } from 'jose';
import { createJwtVerifier, type JwtVerifier } from '../src/auth/jwt-verifier.js';
import type { JwtConfig } from '../src/auth/jwt-settings.js';
import type { Logger } from '@a2a-cluster/core';

type KeyPair = Awaited<ReturnType<typeof generateKeyPair>>;

/** What differs in a token from a good one. */
export interface TokenOptions {
  readonly claims?: JWTPayload;
  readonly kid?: string;
  /** Seconds from now. */
  readonly expiresIn?: number;
  readonly notBefore?: number;
  readonly issuer?: string;
  readonly audience?: string;
  /** Signs with a key of nobody under a known name. */
  readonly forged?: boolean;
}

/** Somebody who issues tokens, with a real server for the keys. */
export class Issuer {
  readonly issuer = 'https://issuer.test/';
  readonly audience = 'agents';
  /** How often the keys were asked for. */
  fetches = 0;
  /** What the server answers with. */
  status = 200;
  private kid = 'k1';

  private constructor(
    private readonly server: Server,
    private keys: KeyPair,
  ) {}

  static async start(): Promise<Issuer> {
    const server = createServer();
    const issuer = new Issuer(server, await generateKeyPair('ES256', { extractable: true }));
    server.on('request', async (_req, res) => {
      issuer.fetches += 1;
      const key = { ...(await exportJWK(issuer.keys.publicKey)), kid: issuer.kid, alg: 'ES256' };
      res.writeHead(issuer.status, { 'Content-Type': 'application/json', Connection: 'close' });
      res.end(JSON.stringify({ keys: [key] }));
    });
    server.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    return issuer;
  }

  get jwksUrl(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/keys`;
  }

  get config(): JwtConfig {
    const { jwksUrl, issuer, audience } = this;
    const claims = { userClaim: 'sub', tenantClaim: 'tenant' };
    return { jwksUrl, issuer, audience, ...claims, algorithms: ['RS256', 'PS256', 'ES256', 'EdDSA'] };
  }

  verifier(logger: Logger, cooldownMs = 0): Promise<JwtVerifier> {
    return createJwtVerifier({ config: this.config, logger, cooldownMs });
  }

  async token(options: TokenOptions = {}): Promise<string> {
    const { claims = { sub: 'alice' }, kid = this.kid, expiresIn = 300, notBefore } = options;
    const now = Math.floor(Date.now() / 1000);
    const key = options.forged ? (await generateKeyPair('ES256')).privateKey : this.keys.privateKey;
    const token = new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256', kid })
      .setIssuer(options.issuer ?? this.issuer)
      .setAudience(options.audience ?? this.audience)
      .setExpirationTime(now + expiresIn);
    if (notBefore !== undefined) token.setNotBefore(now + notBefore);
    return token.sign(key);
  }

  /** A token without an end. */
  async endlessToken(): Promise<string> {
    return new SignJWT({ sub: 'alice' })
      .setProtectedHeader({ alg: 'ES256', kid: this.kid })
      .setIssuer(this.issuer)
      .setAudience(this.audience)
      .sign(this.keys.privateKey);
  }

  /** The old trick: the public key as the secret of a symmetric signature. */
  async confusedToken(): Promise<string> {
    const secret = new TextEncoder().encode(await exportSPKI(this.keys.publicKey));
    return new SignJWT({ sub: 'alice' })
      .setProtectedHeader({ alg: 'HS256', kid: this.kid })
      .setIssuer(this.issuer)
      .setAudience(this.audience)
      .setExpirationTime('5m')
      .sign(secret);
  }

  /** The other one: no signature at all. */
  unsignedToken(): string {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const claims = { sub: 'alice', iss: this.issuer, aud: this.audience, exp: Date.now() / 1000 + 300 };
    return `${part({ alg: 'none', kid: this.kid })}.${part(claims)}.`;
  }

  async rotate(): Promise<void> {
    this.keys = await generateKeyPair('ES256', { extractable: true });
    this.kid = `${this.kid}x`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
