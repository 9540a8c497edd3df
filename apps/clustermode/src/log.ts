import { format } from 'node:util';
import { A2AError } from '@a2a-js/sdk/errors';
import { pino, stdTimeFunctions, type DestinationStream, type Logger as PinoLogger } from 'pino';

/** Options of {@link createLog}. */
export interface LogOptions {
  /** A level of pino. */
  readonly level: string;
  /** Default: standard output, written at once. */
  readonly destination?: DestinationStream;
}

/** Fields that never reach the log, wherever they stand in the first two levels of a line. */
const SECRET_FIELDS = [
  'token',
  'credentials',
  'authorization',
  'password',
  'databaseUrl',
  'headers.authorization',
];

/** The user part of any URL in a text, such as that of a database in an error message. */
const USER_INFO = /([a-z][a-z0-9+.-]*:\/\/)[^\s/@]+@/gi;
/** The query of any URL in a text: webhooks carry their secrets there. */
const QUERY = /([a-z][a-z0-9+.-]*:\/\/[^\s"'\\?#]*)\?[^\s"'\\]+/gi;

/**
 * JSON lines on standard output, one event a line, without secrets: known fields are dropped, URLs lose their user
 * and their query.
 */
export function createLog(options: LogOptions): PinoLogger {
  const settings = {
    level: options.level,
    base: { pid: process.pid },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), remove: true },
    hooks: { streamWrite: withoutSecrets },
  };
  return pino(settings, options.destination ?? standardOutput());
}

/**
 * Standard output as the platform has it. Pino's own destination tries for ever to get rid of its last lines when
 * nobody reads them any more, and the process never ends; here they are lost, which is all that can be done.
 */
function standardOutput(): DestinationStream {
  process.stdout.on('error', () => {});
  return process.stdout;
}

/** The text with the user part and the query of every URL in it struck out. */
export function withoutSecrets(text: string): string {
  return text.replace(USER_INFO, '$1***@').replace(QUERY, '$1?***');
}

/** What the SDK's transports print with a stack for every refused request and every stream that breaks. */
const SDK_NOISE =
  /^(Pre-stream error|Error during SSE|SSE streaming error|Unhandled error in JSON-RPC|Tenant mismatch)/;

/**
 * Sends what an agent and libraries print with `console` to the log, so that standard output stays JSON lines. What
 * the SDK says of refused requests is a debug line without the words of clients in it; everything else stays as it is.
 */
export function captureConsole(log: PinoLogger, target: Console = globalThis.console): void {
  const at =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (...words: readonly unknown[]): void => {
      const err = words.find((word) => word instanceof Error);
      const text = format(...words.filter((word) => word !== err));
      const noise = SDK_NOISE.exec(text)?.[0];
      const fields = err === undefined ? {} : { err };
      if (noise === undefined) log[level](fields, text);
      else log.debug(err instanceof A2AError ? { reason: err.reason } : fields, noise);
    };
  Object.assign(target, {
    log: at('info'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    debug: at('debug'),
  });
}
