import type { ClusterOptions } from '@a2a-cluster/cluster';
import type { SettingValues } from './settings.js';

/** What a request may be, before anybody looks at what it says. */
export interface BodyLimits {
  /** Most bytes, as they come and as they are without their compression. */
  readonly bytes: number;
  /** Most levels of objects and lists. */
  readonly jsonDepth: number;
}

/** What clients may do with connections. Times are in milliseconds. */
export interface HttpLimits {
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  readonly maxHeaderBytes: number;
  readonly maxConnections: number;
}

/** Everything that is bounded by a setting. */
export interface Limits {
  readonly body: BodyLimits;
  readonly http: HttpLimits;
  /** What is undefined is left to the library's defaults. */
  readonly handler: { readonly [Name in keyof typeof HANDLER]: number | undefined };
}

/** The library's limits and the settings they come from. */
export const HANDLER = {
  maxConcurrentTurns: 'MAX_CONCURRENT_TURNS',
  maxTurnsPerOwner: 'MAX_TURNS_PER_OWNER',
  maxStreams: 'MAX_STREAMS',
  maxStreamsPerOwner: 'MAX_STREAMS_PER_OWNER',
  maxMessageParts: 'MAX_MESSAGE_PARTS',
  maxMetadataDepth: 'MAX_METADATA_DEPTH',
  maxTaskMessages: 'MAX_TASK_MESSAGES',
  maxEventBytes: 'MAX_EVENT_BYTES',
  maxEventsPerTurn: 'MAX_EVENTS_PER_TURN',
  slowReaderTimeoutMs: 'SLOW_READER_TIMEOUT_MS',
} as const satisfies { readonly [Name in keyof ClusterOptions]?: keyof SettingValues };

/** What holds where nothing is set. */
export const DEFAULT_BODY_LIMITS: BodyLimits = { bytes: 1024 * 1024, jsonDepth: 100 };

/** What holds where nothing is set. */
export const DEFAULT_HTTP_LIMITS: HttpLimits = {
  headersTimeoutMs: 15_000,
  requestTimeoutMs: 60_000,
  keepAliveTimeoutMs: 5_000,
  maxHeaderBytes: 16 * 1024,
  maxConnections: 20_000,
};

/** The limits of what was set. */
export function limitsOf(values: SettingValues): Limits {
  const http = DEFAULT_HTTP_LIMITS;
  const requestTimeoutMs = values.REQUEST_TIMEOUT_MS ?? http.requestTimeoutMs;
  const handler = Object.entries(HANDLER).map(([option, setting]) => [option, values[setting]]);
  return {
    body: {
      bytes: values.BODY_LIMIT ?? DEFAULT_BODY_LIMITS.bytes,
      jsonDepth: values.MAX_JSON_DEPTH ?? DEFAULT_BODY_LIMITS.jsonDepth,
    },
    http: {
      headersTimeoutMs: values.HEADERS_TIMEOUT_MS ?? Math.min(http.headersTimeoutMs, requestTimeoutMs),
      requestTimeoutMs,
      keepAliveTimeoutMs: values.KEEP_ALIVE_TIMEOUT_MS ?? http.keepAliveTimeoutMs,
      maxHeaderBytes: values.MAX_HEADER_BYTES ?? http.maxHeaderBytes,
      maxConnections: values.MAX_CONNECTIONS ?? http.maxConnections,
    },
    handler: Object.fromEntries(handler) as Limits['handler'],
  };
}

/** What is wrong with limits that are sound each for itself. */
export function limitProblems(values: SettingValues): string[] {
  const { HEADERS_TIMEOUT_MS: headers, REQUEST_TIMEOUT_MS: whole = DEFAULT_HTTP_LIMITS.requestTimeoutMs } =
    values;
  if (headers === undefined || headers <= whole) return [];
  return [`HEADERS_TIMEOUT_MS must not be above REQUEST_TIMEOUT_MS, ${headers} is above ${whole}`];
}
