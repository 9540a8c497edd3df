/** An error as it stands in an answer. */
export interface ErrorAnswer {
  readonly code: number;
  readonly message: string;
  /** The reason of its ErrorInfo, or of that one's metadata. Answers of A2A 0.3 have none. */
  readonly reason: string | undefined;
}

interface ErrorObject {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
  readonly details?: unknown;
}

/** How the SDK begins the last event of a stream that broke. */
const ERROR_EVENT = 'event: error\ndata: ';

/** The error in a body of JSON-RPC or REST, of A2A 1.0 or 0.3; undefined: the body is none. */
export function errorIn(body: unknown): ErrorAnswer | undefined {
  const error = errorObject(body);
  if (error === undefined) return undefined;
  const { reason, metadata } = Object(firstOf(error.data) ?? firstOf(error.details)) as {
    readonly reason?: unknown;
    readonly metadata?: unknown;
  };
  const { reason: closer } = Object(metadata) as { readonly reason?: unknown };
  const { code, message } = error;
  return { code, message, reason: [closer, reason].find((text) => typeof text === 'string') };
}

/** The same body with another message of its error. */
export function withMessage(body: unknown, message: string): unknown {
  const { error } = Object(body) as { readonly error?: unknown };
  const fields = body as object;
  return isErrorObject(error) ? { ...fields, error: { ...error, message } } : { ...fields, message };
}

/** The body of the error event in what is written to a stream; undefined: it is another event. */
export function errorEventIn(chunk: unknown): unknown {
  if (typeof chunk !== 'string' || !chunk.startsWith(ERROR_EVENT)) return undefined;
  return JSON.parse(chunk.slice(ERROR_EVENT.length));
}

/** An error event with this body. */
export function errorEvent(body: unknown): string {
  return `${ERROR_EVENT}${JSON.stringify(body)}\n\n`;
}

function errorObject(body: unknown): ErrorObject | undefined {
  const { error } = Object(body) as { readonly error?: unknown };
  return [error, body].find(isErrorObject);
}

function isErrorObject(value: unknown): value is ErrorObject {
  const { code, message } = Object(value) as { readonly code?: unknown; readonly message?: unknown };
  return typeof code === 'number' && typeof message === 'string';
}

function firstOf(list: unknown): unknown {
  return Array.isArray(list) ? list[0] : undefined;
}
