import { ClusterError, decodeEvent, toStreamResponse, type EventRow } from '@a2a-cluster/core';
import { A2A_CONTENT_TYPE, type Task, type TaskPushNotificationConfig } from '@a2a-js/sdk';
import { V03PushNotificationSerializer } from '@a2a-js/sdk/compat/v0_3/server';
import type { WebhookRequest } from './client.js';

/** The version whose webhooks are sent the whole task and not the event. */
export const LEGACY_WIRE_VERSION = '0.3';

/** As `V03PushNotificationSerializer` gives it. */
const LEGACY_CONTENT_TYPE = 'application/json';

/** The legacy header for a token, as the SDK's sender names it. */
export const TOKEN_HEADER = 'X-A2A-Notification-Token';

/** What a notification is made of. */
export interface NotificationSource {
  /** The config and the protocol version under which it was registered. */
  readonly stored: { readonly config: TaskPushNotificationConfig; readonly wireVersion: string };
  /** Any but a `message` row: those are for nobody but their caller. */
  readonly row: EventRow;
  /** The task as of the row. For webhooks of 0.3, which get the bare event without it; others ignore it. */
  readonly task?: Task | undefined;
}

/**
 * The request of one event for one webhook, equal on every attempt and to what the SDK's sender would send. A 1.0
 * webhook (and one of a version nobody knows) gets the stored text of the row, byte for byte; a 0.3 one gets the task.
 * @throws ClusterError `ROW_CORRUPT` for a row that cannot be read (0.3 only), `BUG` for a `message` row.
 */
export function webhookRequestOf({ stored, row, task }: NotificationSource): WebhookRequest {
  const { config, wireVersion } = stored;
  if (row.kind === 'message') throw new ClusterError('BUG', 'a message row is not for webhooks');
  return {
    url: config.url,
    ...(wireVersion === LEGACY_WIRE_VERSION
      ? legacyContentOf(row, task)
      : { body: row.payload, contentType: A2A_CONTENT_TYPE }),
    notificationId: notificationIdOf({ taskId: row.taskId, seq: row.seq, configId: config.id }),
    headers: authHeadersOf(config),
  };
}

/**
 * The request of an event whose body was stored at its first attempt, or with its dead letter: those bytes again,
 * with the config as it is now.
 */
export function repeatedRequestOf(made: {
  readonly stored: NotificationSource['stored'];
  readonly seq: number;
  readonly body: string;
  readonly contentType: string;
}): WebhookRequest {
  const { config } = made.stored;
  return {
    url: config.url,
    body: made.body,
    contentType: made.contentType,
    notificationId: notificationIdOf({ taskId: config.taskId, seq: made.seq, configId: config.id }),
    headers: authHeadersOf(config),
  };
}

/** The media type of bodies for webhooks of a version. */
export function contentTypeOf(wireVersion: string): string {
  return wireVersion === LEGACY_WIRE_VERSION ? LEGACY_CONTENT_TYPE : A2A_CONTENT_TYPE;
}

/**
 * The id of the notification of one event for one config: `<task>:<seq>:<config>`, the same on every attempt and
 * from every replica. Ids of letters, digits and `-_.!~*'()` stand as they are, the rest is percent-encoded, so it is
 * ASCII, fits a header, and no two notifications share one.
 */
export function notificationIdOf(of: {
  readonly taskId: string;
  readonly seq: number;
  readonly configId: string;
}): string {
  return `${encodePart(of.taskId)}:${of.seq}:${encodePart(of.configId)}`;
}

function encodePart(id: string): string {
  // Ids that can be stored are well-formed; any other text must not throw here.
  return encodeURIComponent(id.toWellFormed());
}

function legacyContentOf(row: EventRow, task: Task | undefined): { body: string; contentType: string } {
  const event = row.decoded ?? decodeEvent(row.kind, row.payload);
  if (event.kind === 'message') throw new ClusterError('BUG', 'a message row is not for webhooks');
  return new V03PushNotificationSerializer().serialize(toStreamResponse(event), task);
}

/** As the SDK's sender: the authentication where it is whole, else the token. */
function authHeadersOf({ authentication, token }: TaskPushNotificationConfig): Record<string, string> {
  if (authentication?.scheme && authentication.credentials)
    return { Authorization: `${authentication.scheme} ${authentication.credentials}` };
  return token ? { [TOKEN_HEADER]: token } : {};
}
