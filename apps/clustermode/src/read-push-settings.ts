import type { PushOptions, SigningKey } from '@a2a-cluster/cluster';
import type { SettingValues } from './settings.js';

/** What the settings say of webhooks; what is undefined is left to the library's defaults. */
export type PushSettings = {
  readonly [Name in Exclude<keyof PushOptions, 'client'>]: PushOptions[Name] | undefined;
};

/** Settings, and sentences about what is wrong with them, each beginning with the name of its variable. */
export interface ReadPushSettings {
  readonly settings: PushSettings;
  readonly problems: readonly string[];
}

/** Reads the `PUSH_*` settings. No sentence shows a secret. */
export function readPushSettings(values: SettingValues): ReadPushSettings {
  const signing = values.PUSH_SIGNING_KEYS === undefined ? null : parseSigningKeys(values.PUSH_SIGNING_KEYS);
  return {
    settings: {
      allowPrivate: values.PUSH_ALLOW_PRIVATE ?? false,
      allow: values.PUSH_ALLOW,
      signing: signing !== null && 'keys' in signing ? signing.keys : undefined,
      attemptTimeoutMs: values.PUSH_TIMEOUT_MS,
      claimTtlMs: values.PUSH_CLAIM_TTL_MS,
      pollIntervalMs: values.PUSH_POLL_INTERVAL_MS,
      concurrency: values.PUSH_CONCURRENCY,
      concurrencyPerOrigin: values.PUSH_CONCURRENCY_PER_ORIGIN,
      firstRetryMs: undefined,
      longestRetryMs: undefined,
      maxAgeMs: values.PUSH_MAX_AGE_MS,
    },
    problems: signing !== null && 'problem' in signing ? [`PUSH_SIGNING_KEYS ${signing.problem}`] : [],
  };
}

/** What {@link parseSigningKeys} found: keys, or a sentence that completes `PUSH_SIGNING_KEYS ...`; no secret in it. */
export type SigningKeys = { readonly keys: readonly SigningKey[] } | { readonly problem: string };

/** Reads `id=secret,id=secret`. An id is a short word; a secret may hold `=`. Its length is checked by the library. */
export function parseSigningKeys(text: string): SigningKeys {
  const keys: SigningKey[] = [];
  for (const [at, entry] of text.split(',').entries()) {
    const equals = entry.indexOf('=');
    const id = entry.slice(0, Math.max(equals, 0)).trim();
    const secret = entry.slice(equals + 1).trim();
    if (equals < 1 || secret === '') return { problem: `entry ${at + 1} is not id=secret` };
    if (keys.some((key) => key.id === id)) return { problem: `entry ${at + 1} has the id of another entry` };
    keys.push({ id, secret });
  }
  return { keys };
}
