import { z } from 'zod';
import { isStorableKey } from '@a2a-cluster/core';
import { doorSettings } from './door-settings.js';
import { limitSettings } from './limit-settings.js';
import { pushSettings } from './push-settings.js';
import { retentionSettings } from './retention-settings.js';
import { byteSize, durationMs, of, oneOf, wholeNumber } from './setting-values.js';

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
  ...retentionSettings,
  LOG_LEVEL: of(
    oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
    'least severe level that is logged',
    'info',
  ),
  AGENT_MODULE: of(z.string(), 'path of an ES module that exports the agent', 'the demo agent'),
  AUTH_TOKENS: of(z.string(), 'token=user or token=user@tenant, comma separated', 'no authentication'),
  ...doorSettings,
  ...pushSettings,
  MAX_CONCURRENT_TURNS: of(wholeNumber(1, 1_000_000), 'most turns this replica runs at once', 'no limit'),
  CARD_DEFAULT_VERSION: of(
    oneOf(['1.0', '0.3']),
    'which agent card a client gets that names no A2A version: 1.0 or 0.3',
    '1.0',
  ),
  BODY_LIMIT: of(byteSize(), 'largest request body, such as 512kb or 2mb', '1mb'),
  ...limitSettings,
};

/** The name of a setting: the environment variable. */
export type SettingName = keyof typeof settings;

/** What was set, read. */
export type SettingValues = {
  readonly [Name in SettingName]?: z.output<(typeof settings)[Name]['schema']> | undefined;
};

/** The names in the order of the help. */
export const settingNames = Object.keys(settings) as readonly SettingName[];

/** Settings whose values must not be printed. */
export const secretSettings: ReadonlySet<SettingName> = new Set([
  'DATABASE_URL',
  'AUTH_TOKENS',
  'PUSH_SIGNING_KEYS',
  'OPERATOR_TOKEN',
  'CONSOLE_TOKEN',
]);

/** The flag of a setting: `LEASE_TTL_MS` is `--lease-ttl-ms`. */
export function flagOf(name: SettingName): string {
  return `--${name.toLowerCase().replaceAll('_', '-')}`;
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
