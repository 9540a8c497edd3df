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

/** JSON lines on standard output, one event a line, without secrets: known fields are dropped, URLs lose their user. */
export function createLog(options: LogOptions): PinoLogger {
  const settings = {
    level: options.level,
    base: { pid: process.pid },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), remove: true },
    hooks: { streamWrite: withoutUserInfo },
  };
  return options.destination === undefined ? pino(settings) : pino(settings, options.destination);
}

/** The text with the user part of every URL in it struck out. */
export function withoutUserInfo(text: string): string {
  return text.replace(USER_INFO, '$1***@');
}

/**
 * Sends what libraries print with `console` to the log, so that standard output stays JSON lines. The SDK's
 * transports print every refused stream with its stack; that is worth a debug line.
 */
export function captureConsole(log: PinoLogger, target: Console = globalThis.console): void {
  const line = (...words: readonly unknown[]): void => {
    const err = words.find((word) => word instanceof Error);
    const text = words.filter((word) => word !== err).map(String);
    log.debug(err === undefined ? {} : { err }, text.join(' '));
  };
  Object.assign(target, { log: line, info: line, warn: line, error: line, debug: line });
}
