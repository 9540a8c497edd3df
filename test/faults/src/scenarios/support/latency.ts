import type { EventRow, WireEvent } from '../../history/history.js';
import type { Stream } from '../../world/stream.js';

/** How long after it was stored each event reached a stream, by what it says; what came with the first task is left out. */
export function latenciesMs(stream: Stream, rows: readonly EventRow[]): number[] {
  const storedAt = new Map(
    rows.flatMap((row) => {
      const text = textOf(JSON.parse(row.payload) as WireEvent);
      return text === undefined ? [] : [[text, row.createdAtMs] as const];
    }),
  );
  const [first] = stream.record.frames;
  return stream.record.frames.slice(1).flatMap(({ atMs, event }) => {
    const stored = storedAt.get(textOf(event) ?? '');
    return stored === undefined || stored < (first?.atMs ?? 0) ? [] : [atMs - stored];
  });
}

/** What a status update says, which is another thing each time. */
export function textOf(event: WireEvent): string | undefined {
  return event.statusUpdate?.status.message?.parts[0]?.text;
}
