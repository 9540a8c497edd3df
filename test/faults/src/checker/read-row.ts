import { StreamResponse } from '@a2a-js/sdk';
import {
  decodeEvent,
  failureReasonOf,
  METADATA_KEY,
  stateName,
  toStreamResponse,
  type EventKind,
  type TaskEvent,
} from '@a2a-cluster/core';
import type { EventRow, WireEvent } from '../history/history.js';

/** A row of the log whose payload could be read. */
export interface ReadRow {
  readonly row: EventRow;
  readonly event: TaskEvent;
  /** The state it leaves the task in; undefined: it says nothing of the state. */
  readonly state: string | undefined;
  /** What a client is shown for it, in the one form frames are compared in; null: `message` rows are not shown. */
  readonly shown: string | null;
  /** Why the cluster ended the turn, where this row is such an ending. */
  readonly reason: string | undefined;
  /** When the lease of a lost replica expired, by the database's clock. */
  readonly expiredAtMs: number | undefined;
}

/** Reads a row; null when its payload is not an event of its kind. */
export function readRow(row: EventRow): ReadRow | null {
  const event = decode(row);
  if (event === null) return null;
  const metadata = event.kind === 'statusUpdate' || event.kind === 'task' ? event.data.metadata : undefined;
  return {
    row,
    event,
    state: stateOf(event),
    shown: event.kind === 'message' ? null : canonical(StreamResponse.toJSON(toStreamResponse(event))),
    reason: failureReasonOf(metadata),
    expiredAtMs: expiredAt(metadata),
  };
}

/** A frame or push in the form rows are compared in; what the codec does not know does not count. */
export function shownForm(event: WireEvent): string {
  try {
    return canonical(StreamResponse.toJSON(StreamResponse.fromJSON(event)));
  } catch {
    return canonical(event);
  }
}

/** JSON with sorted keys, so that equal values are equal texts. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

function decode(row: EventRow): TaskEvent | null {
  try {
    return decodeEvent(row.kind as EventKind, row.payload);
  } catch {
    return null;
  }
}

function stateOf(event: TaskEvent): string | undefined {
  if (event.kind !== 'task' && event.kind !== 'statusUpdate') return undefined;
  return event.data.status === undefined ? undefined : stateName(event.data.status.state);
}

function expiredAt(metadata: Readonly<Record<string, unknown>> | undefined): number | undefined {
  const ours = metadata?.[METADATA_KEY];
  if (typeof ours !== 'object' || ours === null || !('expiredAt' in ours)) return undefined;
  const ms = Date.parse(String(ours.expiredAt));
  return Number.isNaN(ms) ? undefined : ms;
}
