const FIRST_MS = 500;
const MOST_MS = 15_000;

/**
 * How long to wait before an attempt, the first being 1: twice as long each time up to 15 s, of which `chance`, 0 to 1,
 * takes off up to a half, so that the pages of a dead replica do not all come to the next one at once.
 */
export function backoffMs(attempt: number, chance: number): number {
  const full = Math.min(MOST_MS, FIRST_MS * 2 ** Math.min(attempt - 1, 10));
  return Math.round(full * (1 - chance / 2));
}
