import { z } from 'zod';
import { isStorableKey } from '@a2a-cluster/core';
import { BEARER_TOKEN } from './auth-tokens.js';
import { jwksUrl, jwtAlgorithms } from './auth/jwt-settings.js';

/** One setting of a replica: an environment variable and the flag of the same name. */
export interface Setting<Value> {
  /** Reads the text of the variable; its issues complete the sentence `<NAME> ...`. */
  readonly schema: z.ZodType<Value, string>;
  /** One line for `--help`. */
  readonly help: string;
  /** What holds when nothing is set, for `--help`. */
  readonly unset: string;
}

/** The longest time a setting may name: what a timer of the platform takes. */
const MAX_MS = 2_147_483_647;
/** What is left of a key column for the name of a replica, once the boot is behind it. */
const MAX_REPLICA_ID_BYTES = 120;

/** Every setting of `serve`, by variable. */
export const settings = {
  DATABASE_URL: of(databaseUrl(), 'the database all replicas share', 'file:./.data/cluster.db'),
  DATABASE_POOL_SIZE: of(
    wholeNumber(1, 1_000),
    'most database connections for requests and events; SQLite has one',
    '10',
  ),
  HOST: of(z.string(), 'address to listen on', '127.0.0.1'),
  PORT: of(wholeNumber(0, 65_535), 'port to listen on; 0 picks a free one', '41241'),
  GRPC_PORT: of(wholeNumber(1, 65_535), 'port of the gRPC server', 'off'),
  PUBLIC_URL: of(publicUrl(), 'address clients use, as the agent card names it', 'from HOST and PORT'),
  REPLICA_ID: of(replicaId(), 'name of this replica', 'the host name'),
  LEASE_TTL_MS: of(durationMs(), 'how long a lease lives without a heartbeat', '15000'),
  LEASE_HEARTBEAT_MS: of(durationMs(), 'time between two heartbeats', '5000'),
  SWEEP_INTERVAL_MS: of(durationMs(), 'longest time between two sweeps', '5000'),
  CANCEL_GRACE_MS: of(durationMs(), 'time an agent has to end a cancelled turn itself', '2 x the heartbeat'),
  DRAIN_TIMEOUT_MS: of(durationMs(), 'time running turns have to end at shutdown', '20000'),
  POLL_INTERVAL_MS: of(durationMs(), 'time between two looks at the log', '250, or 1000 behind LISTEN'),
  HINTS: of(oneOf(['auto', 'listen', 'poll']), 'how replicas wake each other: auto, listen or poll', 'auto'),
  EVENT_RETENTION_MS: of(durationMs(), 'how long events of an ended task are kept', '86400000'),
  LOG_LEVEL: of(
    oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
    'least severe level that is logged',
    'info',
  ),
  AGENT_MODULE: of(z.string(), 'path of an ES module that exports the agent', 'the demo agent'),
  AUTH_TOKENS: of(z.string(), 'token=user or token=user@tenant, comma separated', 'no authentication'),
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
  PUSH_ALLOW_PRIVATE: of(trueOrFalse(), 'whether webhooks may have private addresses', 'false'),
  MAX_CONCURRENT_TURNS: of(wholeNumber(1, 1_000_000), 'most turns this replica runs at once', 'no limit'),
  CARD_DEFAULT_VERSION: of(
    oneOf(['1.0', '0.3']),
    'which agent card a client gets that names no A2A version: 1.0 or 0.3',
    '1.0',
  ),
  BODY_LIMIT: of(byteSize(), 'largest request body, such as 512kb or 2mb', '1mb'),
};

/** The name of a setting: the environment variable. */
export type SettingName = keyof typeof settings;

/** The names in the order of the help. */
export const settingNames = Object.keys(settings) as readonly SettingName[];

/** Settings whose values must not be printed. */
export const secretSettings: ReadonlySet<SettingName> = new Set([
  'DATABASE_URL',
  'AUTH_TOKENS',
  'OPERATOR_TOKEN',
]);

/** The flag of a setting: `LEASE_TTL_MS` is `--lease-ttl-ms`. */
export function flagOf(name: SettingName): string {
  return `--${name.toLowerCase().replaceAll('_', '-')}`;
}

function of<Value>(schema: z.ZodType<Value, string>, help: string, unset: string): Setting<Value> {
  return { schema, help, unset };
}

function wholeNumber(least: number, most: number): z.ZodType<number, string> {
  const message = `must be a whole number from ${least} to ${most}`;
  const fits = (text: string): boolean => Number(text) >= least && Number(text) <= most;
  return z
    .string()
    .refine((text) => /^\d{1,10}$/.test(text) && fits(text), message)
    .transform(Number);
}

function durationMs(): z.ZodType<number, string> {
  return wholeNumber(1, MAX_MS);
}

function oneOf<const Words extends readonly string[]>(words: Words): z.ZodType<Words[number], string> {
  const message = `must be one of ${words.join(', ')}`;
  return z
    .string()
    .refine((text) => words.includes(text), message)
    .transform((text) => text as Words[number]);
}

function trueOrFalse(): z.ZodType<boolean, string> {
  return oneOf(['true', 'false']).transform((word) => word === 'true');
}

function byteSize(): z.ZodType<number, string> {
  const units: Readonly<Record<string, number>> = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 };
  const pattern = /^(\d{1,9})(b|kb|mb|gb)?$/i;
  return z
    .string()
    .refine((text) => Number(pattern.exec(text)?.[1]) > 0, 'must be a size such as 65536, 512kb or 1mb')
    .transform((text) => {
      const [, digits, unit = 'b'] = pattern.exec(text) ?? [];
      return Number(digits) * (units[unit.toLowerCase()] ?? 1);
    });
}

function databaseUrl(): z.ZodType<string, string> {
  const message = 'must start with file:, postgresql://, postgres://, mysql:// or mariadb://';
  return z.string().regex(/^(file:.|postgres(ql)?:\/\/.|(mysql|mariadb):\/\/.)/, message);
}

function publicUrl(): z.ZodType<string, string> {
  const usable = (text: string): boolean => {
    if (!URL.canParse(text)) return false;
    const url = new URL(text);
    return /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username;
  };
  return z
    .string()
    .refine(usable, 'must be an http or https URL without query, fragment or user')
    .transform((text) => text.replace(/\/+$/, ''));
}

function replicaId(): z.ZodType<string, string> {
  const fits = (text: string): boolean =>
    isStorableKey(text) && !/[\s\p{C}]/u.test(text) && Buffer.byteLength(text) <= MAX_REPLICA_ID_BYTES;
  return z
    .string()
    .refine(fits, `must be at most ${MAX_REPLICA_ID_BYTES} bytes without spaces and control characters`);
}

function someText(): z.ZodType<string, string> {
  return z.string().min(1, 'must not be empty');
}

function operatorToken(): z.ZodType<string, string> {
  const message = 'must be at least 16 characters that a Bearer token can have';
  return z.string().refine((text) => text.length >= 16 && BEARER_TOKEN.test(text), message);
}
