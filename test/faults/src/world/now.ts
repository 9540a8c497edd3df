/** Milliseconds since 1970 by the harness's own clock, which never goes back within a run. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

/** Waits. For the length of a fault only; what can be waited for by a signal is waited for by it. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Resolves with null after that time, for races: the process does not wait for it to end. */
export function limit(ms: number): Promise<null> {
  return new Promise((resolve) => void setTimeout(() => resolve(null), ms).unref());
}
