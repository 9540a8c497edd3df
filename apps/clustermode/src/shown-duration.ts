const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A duration as people read it: `240 ms`, `12 s`, `3 min`, `5 h`, `2 d`. Rounded down; a minus sign stays. */
export function shownDuration(ms: number): string {
  if (ms < 0) return `-${shownDuration(-ms)}`;
  if (ms < SECOND_MS) return `${Math.floor(ms)} ms`;
  if (ms < 2 * MINUTE_MS) return `${Math.floor(ms / SECOND_MS)} s`;
  if (ms < 2 * HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min`;
  if (ms < 2 * DAY_MS) return `${Math.floor(ms / HOUR_MS)} h`;
  return `${Math.floor(ms / DAY_MS)} d`;
}
