/**
 * Stable codes of the faults this project raises. A code never changes its meaning; messages may.
 *
 * `CONFIG_INVALID` the options do not add up · `DATABASE_UNREACHABLE` no answer from the server ·
 * `DATABASE_UNSUITABLE` version, settings or contents of the server rule it out · `SCHEMA_BEHIND` migrations are
 * missing · `SCHEMA_FOREIGN` the schema belongs to another application · `UNKNOWN_OUTCOME` a write was sent and its
 * fate is not known · `STORE_FAULT` the database answered with an error · `ROW_CORRUPT` a stored row cannot be
 * read · `EVENT_TOO_LARGE` an event is over the limit · `LEASE_LOST` the caller acts under a lease it no longer
 * holds · `CLOSED` the part was closed · `BUG` an invariant of ours is broken.
 */
export type ClusterErrorCode =
  | 'CONFIG_INVALID'
  | 'DATABASE_UNREACHABLE'
  | 'DATABASE_UNSUITABLE'
  | 'SCHEMA_BEHIND'
  | 'SCHEMA_FOREIGN'
  | 'UNKNOWN_OUTCOME'
  | 'STORE_FAULT'
  | 'ROW_CORRUPT'
  | 'EVENT_TOO_LARGE'
  | 'LEASE_LOST'
  | 'CLOSED'
  | 'BUG';

/** What {@link ClusterError} is made of. */
export interface ClusterErrorOptions {
  /** The error underneath, if there is one. */
  readonly cause?: unknown;
  /** Facts for logs and tests; never secrets, they may be printed. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** A fault with a stable {@link ClusterErrorCode}. Expected refusals are values, never this. */
export class ClusterError extends Error {
  readonly code: ClusterErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ClusterErrorCode, message: string, options: ClusterErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ClusterError';
    this.code = code;
    this.details = options.details ?? {};
  }
}

/** Whether `error` is a {@link ClusterError}, of the given code if one is named. Works across copies of the package. */
export function isClusterError(error: unknown, code?: ClusterErrorCode): error is ClusterError {
  const named = error instanceof Error && error.name === 'ClusterError' && 'code' in error;
  return named && (code === undefined || error.code === code);
}

/** The text of anything thrown, for logs. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Marks a branch that the types rule out; reaching it is a bug of ours. */
export function unreachable(value: never): never {
  throw new ClusterError('BUG', `unreachable branch reached with ${JSON.stringify(value)}`);
}
