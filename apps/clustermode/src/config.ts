import { hostname } from 'node:os';
import type { z } from 'zod';
import { parseAuthTokens, type Grant } from './auth-tokens.js';
import { jwtConfigOf, type JwtConfig } from './auth/jwt-settings.js';
import type { OperatorConfig } from './operator/operator-config.js';
import { flagOf, secretSettings, settingNames, settings, type SettingName } from './settings.js';

type Values = { readonly [Name in SettingName]?: z.output<(typeof settings)[Name]['schema']> | undefined };

/** What a replica runs with. Times are in milliseconds; what is undefined is left to the library's defaults. */
export interface Config {
  readonly databaseUrl: string;
  readonly databasePoolSize: number | undefined;
  readonly host: string;
  /** 0: a free port. */
  readonly port: number;
  readonly grpcPort: number | undefined;
  /** Undefined: made from host and port. */
  readonly publicUrl: string | undefined;
  readonly replicaId: string;
  readonly leaseTtlMs: number | undefined;
  readonly leaseHeartbeatMs: number | undefined;
  readonly sweepIntervalMs: number | undefined;
  readonly cancelGraceMs: number | undefined;
  readonly drainTimeoutMs: number | undefined;
  readonly pollIntervalMs: number | undefined;
  readonly hints: 'auto' | 'listen' | 'poll';
  readonly eventRetentionMs: number | undefined;
  readonly logLevel: string;
  readonly agentModule: string | undefined;
  /** Undefined, as `jwt` is: no authentication. */
  readonly grants: readonly Grant[] | undefined;
  readonly jwt: JwtConfig | undefined;
  readonly operator: OperatorConfig;
  readonly pushAllowPrivate: boolean;
  readonly maxConcurrentTurns: number | undefined;
  /** The version of the card for clients that name none. */
  readonly cardDefaultVersion: '1.0' | '0.3';
  /** In bytes. */
  readonly bodyLimit: number;
}

/** Texts of settings, by name: the environment, or the flags of a command line. */
export type SettingTexts = Readonly<Record<string, string | undefined>>;

/** Where {@link loadConfig} reads from. */
export interface ConfigSources {
  /** An empty text counts as not set. */
  readonly env: SettingTexts;
  /** By setting name; a flag wins over the environment. */
  readonly flags?: SettingTexts;
}

/** A configuration, or a sentence for every setting that is wrong, each beginning with the name of its variable. */
export type ConfigResult =
  { readonly config: Config; readonly problems?: never } | { readonly problems: readonly string[] };

/** The environment of this process: the one place that reads it. */
export function processEnvironment(): Readonly<Record<string, string | undefined>> {
  return process.env;
}

/** Reads every setting and finds everything that is wrong with any of them at once. */
export function loadConfig({ env, flags = {} }: ConfigSources): ConfigResult {
  const problems: string[] = [];
  const textOf = (name: SettingName): string | undefined =>
    flags[name] ?? (env[name] === '' ? undefined : env[name]);
  const given = (name: SettingName): boolean => textOf(name) !== undefined;
  const read = (name: SettingName): unknown => {
    const text = textOf(name);
    if (text === undefined) return undefined;
    const parsed = settings[name].schema.safeParse(text);
    if (parsed.success) return parsed.data;
    const shown = secretSettings.has(name) ? '' : `, not ${JSON.stringify(text)}`;
    const source = flags[name] === undefined ? name : `${name} (${flagOf(name)})`;
    problems.push(`${source} ${parsed.error.issues[0]?.message ?? 'is wrong'}${shown}`);
    return undefined;
  };
  const values = Object.fromEntries(settingNames.map((name) => [name, read(name)])) as Values;
  const tokens = values.AUTH_TOKENS === undefined ? undefined : parseAuthTokens(values.AUTH_TOKENS);
  problems.push(...(tokens?.problems ?? []).map((problem) => `AUTH_TOKENS ${problem}`));
  const jwt = jwtConfigOf(values, given);
  problems.push(...jwt.problems);
  if (given('OPERATOR_HOST') && !given('OPERATOR_PORT'))
    problems.push('OPERATOR_PORT must be set when OPERATOR_HOST is');
  const doors = { grants: tokens?.grants, jwt: jwt.jwt };
  return problems.length > 0 ? { problems } : { config: configOf(values, doors) };
}

function configOf(values: Values, doors: Pick<Config, 'grants' | 'jwt'>): Config {
  return {
    databaseUrl: values.DATABASE_URL ?? 'file:./.data/cluster.db',
    databasePoolSize: values.DATABASE_POOL_SIZE,
    host: values.HOST ?? '127.0.0.1',
    port: values.PORT ?? 41241,
    grpcPort: values.GRPC_PORT,
    publicUrl: values.PUBLIC_URL,
    replicaId: values.REPLICA_ID ?? hostname(),
    leaseTtlMs: values.LEASE_TTL_MS,
    leaseHeartbeatMs: values.LEASE_HEARTBEAT_MS,
    sweepIntervalMs: values.SWEEP_INTERVAL_MS,
    cancelGraceMs: values.CANCEL_GRACE_MS,
    drainTimeoutMs: values.DRAIN_TIMEOUT_MS,
    pollIntervalMs: values.POLL_INTERVAL_MS,
    hints: values.HINTS ?? 'auto',
    eventRetentionMs: values.EVENT_RETENTION_MS,
    logLevel: values.LOG_LEVEL ?? 'info',
    agentModule: values.AGENT_MODULE,
    ...doors,
    operator: {
      port: values.OPERATOR_PORT,
      host: values.OPERATOR_HOST ?? '127.0.0.1',
      token: values.OPERATOR_TOKEN,
    },
    pushAllowPrivate: values.PUSH_ALLOW_PRIVATE ?? false,
    maxConcurrentTurns: values.MAX_CONCURRENT_TURNS,
    cardDefaultVersion: values.CARD_DEFAULT_VERSION ?? '1.0',
    bodyLimit: values.BODY_LIMIT ?? 1024 * 1024,
  };
}

/** The address in the agent card when nobody set one: a wildcard host is reached as localhost. */
export function defaultPublicUrl(host: string, port: number): string {
  const wildcard = host === '0.0.0.0' || host === '::';
  const name = wildcard ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}`;
}
