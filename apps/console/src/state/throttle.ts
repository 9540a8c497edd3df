/** A function that is not called more often than the interval: at once when it was quiet, and with the newest after. */
export interface Throttled<T> {
  (value: T): void;
  /** Drops what waits. */
  stop(): void;
}

/** Calls `work` at most once per `intervalMs`, always with the newest value in the end. */
export function throttled<T>(work: (value: T) => void, intervalMs: number): Throttled<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let waiting: { readonly value: T } | null = null;
  const next = (): void => {
    timer = undefined;
    if (waiting === null) return;
    const { value } = waiting;
    waiting = null;
    run(value);
  };
  const run = (value: T): void => {
    timer = setTimeout(next, intervalMs);
    work(value);
  };
  const call = (value: T): void => {
    if (timer === undefined) run(value);
    else waiting = { value };
  };
  return Object.assign(call, { stop: () => clearTimeout(timer) });
}
