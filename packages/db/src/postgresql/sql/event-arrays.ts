import type { NewEvent } from '@a2a-cluster/core';

/**
 * A batch as four arrays for `unnest`: kinds, payloads, write ids, message ids. One JSON parameter is no choice:
 * PostgreSQL's JSON refuses `\\u0000`, which agents do emit, and would not keep the payload's bytes.
 */
export function eventArrays(events: readonly NewEvent[]): [string[], string[], string[], (string | null)[]] {
  return [
    events.map((event) => event.kind),
    events.map((event) => event.payload),
    events.map((event) => event.writeId),
    events.map((event) => event.messageId ?? null),
  ];
}
