import { isStorableKey } from '@a2a-cluster/core';
import { RequestMalformedError } from '@a2a-js/sdk/errors';

/** A place in a list of tasks. */
export interface PageCursor {
  /** `''`: the task has none. */
  readonly statusTimestamp: string;
  readonly taskId: string;
}

/** The page token of the SDK's stores: base64 of `timestamp|id`. */
export function encodePageToken({ statusTimestamp, taskId }: PageCursor): string {
  return Buffer.from(`${statusTimestamp}|${taskId}`).toString('base64');
}

/**
 * The place of a page token.
 * @throws the SDK's `RequestMalformedError` when it is none.
 */
export function decodePageToken(token: string): PageCursor {
  const text = Buffer.from(token, 'base64').toString('utf8');
  const bar = text.indexOf('|');
  const cursor = { statusTimestamp: text.slice(0, Math.max(bar, 0)), taskId: text.slice(bar + 1) };
  // No token of ours holds what cannot be stored, and a database would choke on NUL.
  const isOurs = bar !== -1 && isStorableKey(cursor.taskId) && !cursor.statusTimestamp.includes('\u0000');
  // The decoder takes anything; what it skipped or replaced would be another place than the one that was meant.
  if (!isOurs || encodePageToken(cursor) !== token)
    throw new RequestMalformedError('Invalid page token format.');
  return cursor;
}
