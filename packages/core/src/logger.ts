/** One log call: facts first, then a sentence. */
export type LogMethod = (fields: Readonly<Record<string, unknown>>, message: string) => void;

/** The part of a pino logger that the packages use; any logger of this shape will do. */
export interface Logger {
  debug: LogMethod;
  info: LogMethod;
  warn: LogMethod;
  error: LogMethod;
}

const ignore: LogMethod = () => {};

/** A logger that says nothing: the default of every package. */
export function createSilentLogger(): Logger {
  return { debug: ignore, info: ignore, warn: ignore, error: ignore };
}

/** A logger that adds the same fields to every line, below the fields of the line itself. */
export function withFields(logger: Logger, fields: Readonly<Record<string, unknown>>): Logger {
  const wrap =
    (level: keyof Logger): LogMethod =>
    (more, message) =>
      logger[level]({ ...fields, ...more }, message);
  return { debug: wrap('debug'), info: wrap('info'), warn: wrap('warn'), error: wrap('error') };
}
