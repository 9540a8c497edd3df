import { hostname } from 'node:os';
import { parseAuthTokens, type Grant } from './auth-tokens.js';
import { jwtConfigOf, type JwtConfig } from './auth/jwt-settings.js';
import { limitProblems, limitsOf, type Limits } from './limits.js';
import type { OperatorConfig } from './operator/operator-config.js';
import { readPushSettings, type PushSettings } from './read-push-settings.js';
import { retentionConfigOf, type RetentionConfig } from './read-retention-settings.js';
import {
  flagOf,
  secretSettings,
  settingNames,
  settings,
  type SettingName,
  type SettingValues,
} from './settings.js';

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
  readonly logLevel: string;
  readonly agentModule: string | undefined;
  /** Undefined, as `jwt` is: no authentication. */
  readonly grants: readonly Grant[] | undefined;
  readonly jwt: JwtConfig | undefined;
  readonly operator: OperatorConfig;
  /** Webhooks: see `PushOptions` of the library. */
  readonly push: PushSettings;
  /** The version of the card for clients that name none. */
  readonly cardDefaultVersion: '1.0' | '0.3';
  readonly limits: Limits;
  /** What is kept of tasks that have ended or were left. */
  readonly kept: RetentionConfig;
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
  | { readonly config: Config; readonly problems?: undefined }
  | { readonly config?: undefined; readonly problems: readonly string[] };

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
  const values = Object.fromEntries(settingNames.map((name) => [name, read(name)])) as SettingValues;
  const tokens = values.AUTH_TOKENS === undefined ? undefined : parseAuthTokens(values.AUTH_TOKENS);
  problems.push(...(tokens?.problems ?? []).map((problem) => `AUTH_TOKENS ${problem}`));
  const jwt = jwtConfigOf(values, given);
  const push = readPushSettings(values);
  problems.push(...jwt.problems, ...push.problems, ...limitProblems(values));
  if (given('OPERATOR_HOST') && !given('OPERATOR_PORT'))
    problems.push('OPERATOR_PORT must be set when OPERATOR_HOST is');
  if (problems.length > 0) return { problems };
  return { config: configOf(values, { grants: tokens?.grants, jwt: jwt.jwt, push: push.settings }) };
}

function configOf(values: SettingValues, read: Pick<Config, 'grants' | 'jwt' | 'push'>): Config {
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
    logLevel: values.LOG_LEVEL ?? 'info',
    agentModule: values.AGENT_MODULE,
    ...read,
    operator: {
      port: values.OPERATOR_PORT,
      host: values.OPERATOR_HOST ?? '127.0.0.1',
      token: values.OPERATOR_TOKEN,
      consoleToken: values.CONSOLE_TOKEN,
    },
    cardDefaultVersion: values.CARD_DEFAULT_VERSION ?? '1.0',
    limits: limitsOf(values),
    kept: retentionConfigOf(values),
  };
}

/** The address in the agent card when nobody set one: a wildcard host is reached as localhost. */
export function defaultPublicUrl(host: string, port: number): string {
  const wildcard = host === '0.0.0.0' || host === '::';
  const name = wildcard ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}`;
}
