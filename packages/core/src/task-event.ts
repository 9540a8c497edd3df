import { Message, StreamResponse } from '@a2a-js/sdk';
import type { Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from '@a2a-js/sdk';
import { ClusterError, unreachable } from './errors.js';

/** What an event is. `message` is a user's message added to the history: it takes a seq and is never shown. */
export type EventKind = 'task' | 'statusUpdate' | 'artifactUpdate' | 'message';

/** An event of the log, decoded. */
export type TaskEvent =
  | { readonly kind: 'task'; readonly data: Task }
  | { readonly kind: 'statusUpdate'; readonly data: TaskStatusUpdateEvent }
  | { readonly kind: 'artifactUpdate'; readonly data: TaskArtifactUpdateEvent }
  | { readonly kind: 'message'; readonly data: Message };

/** An event ready to be written: encoded once, the same bytes on every attempt. */
export interface NewEvent {
  readonly kind: EventKind;
  /** The codec's JSON: a StreamResponse, or for kind `message` the Message. */
  readonly payload: string;
  /** Unique per event: a retry finds its own row by it (protocol 3.6). */
  readonly writeId: string;
  /** Set on `message` rows and on the first `task` row: the user message that opened the turn. */
  readonly messageId?: string | undefined;
  /** What the payload decodes to, where it is at hand. It is handed to subscribers: share it with nothing else. */
  readonly decoded?: TaskEvent | undefined;
}

/** A row of `task_events`. */
export interface EventRow {
  readonly taskId: string;
  /** 1..n per task, no gap, no repeat. */
  readonly seq: number;
  readonly kind: EventKind;
  readonly payload: string;
  readonly messageId: string | null;
  /** The replica that wrote the row. */
  readonly holder: string;
  /** The turn the row belongs to, or ended. */
  readonly epoch: number;
  /** See {@link NewEvent.decoded}; never set on rows that were read. */
  readonly decoded?: TaskEvent | undefined;
}

/** The codec's JSON of an event, as `task_events.payload` holds it. */
export function encodeEvent(event: TaskEvent): string {
  if (event.kind === 'message') return JSON.stringify(Message.toJSON(event.data));
  return JSON.stringify(StreamResponse.toJSON(toStreamResponse(event)));
}

/**
 * The event of a stored payload.
 * @throws {@link ClusterError} `ROW_CORRUPT` when it is not JSON or not an event of that kind.
 */
export function decodeEvent(kind: EventKind, payload: string): TaskEvent {
  const json = parseJson(payload);
  const event = decoded(kind, json);
  if (event !== undefined) return event;
  throw new ClusterError('ROW_CORRUPT', `stored event is not a ${kind}`);
}

/** The codec throws on JSON of the wrong shape inside a known field. */
function decoded(kind: EventKind, json: object): TaskEvent | undefined {
  try {
    if (kind === 'message') return { kind, data: Message.fromJSON(json) };
    const { payload } = StreamResponse.fromJSON(json);
    return payload?.$case === kind ? ({ kind, data: payload.value } as TaskEvent) : undefined;
  } catch (cause) {
    throw new ClusterError('ROW_CORRUPT', `stored event is not a readable ${kind}`, { cause });
  }
}

/** What a subscriber is sent for an event; `message` rows are not for subscribers. */
export function toStreamResponse(event: Exclude<TaskEvent, { kind: 'message' }>): StreamResponse {
  switch (event.kind) {
    case 'task':
      return { payload: { $case: 'task', value: event.data } };
    case 'statusUpdate':
      return { payload: { $case: 'statusUpdate', value: event.data } };
    case 'artifactUpdate':
      return { payload: { $case: 'artifactUpdate', value: event.data } };
    default:
      return unreachable(event);
  }
}

function parseJson(payload: string): object {
  try {
    const json: unknown = JSON.parse(payload);
    if (typeof json === 'object' && json !== null) return json;
  } catch (cause) {
    throw new ClusterError('ROW_CORRUPT', 'stored event is not JSON', { cause });
  }
  throw new ClusterError('ROW_CORRUPT', 'stored event is not an object');
}
