import { METADATA_KEY } from '@a2a-cluster/core';
import type { Frame, StreamRecord, WireEvent } from '../history/history.js';

/** A stream, its reset apart from what it showed of the log. */
export interface StreamView extends StreamRecord {
  /** The whole task that stood for pruned events; null: there was none. */
  readonly reset: Frame | null;
}

/** Takes the reset off the end of a stream. One that stands elsewhere stays, and is a frame of no row. */
export function withoutReset(stream: StreamRecord): StreamView {
  const last = stream.frames.at(-1);
  if (last === undefined || !isReset(last.event)) return { ...stream, reset: null };
  return { ...stream, frames: stream.frames.slice(0, -1), reset: last };
}

/** The event of a reset as it was before it was marked. */
export function unmarked(event: WireEvent): WireEvent {
  const { task } = event;
  const metadata = { ...task?.metadata };
  const { reset: _, ...ours } = metadata[METADATA_KEY] as Record<string, unknown>;
  if (Object.keys(ours).length > 0) metadata[METADATA_KEY] = ours;
  else delete metadata[METADATA_KEY];
  const { metadata: __, ...rest } = task as NonNullable<typeof task>;
  return { task: Object.keys(metadata).length > 0 ? { ...rest, metadata } : rest };
}

function isReset({ task }: WireEvent): boolean {
  const ours = task?.metadata?.[METADATA_KEY] as { readonly reset?: unknown } | undefined;
  return ours?.reset === 'pruned';
}
