import { signal } from '@preact/signals';

/** Milliseconds since 1970 by this machine. The only place of the page that reads a clock. */
export const localNow = (): number => Date.now();

/** Milliseconds that only grow, for what counts down here. */
export const monotonicNow = (): number => performance.now();

/** Grows once a second: reading it in a component renders that component again. */
export const tick = signal(0);

/** How far the clocks of the cluster are ahead of this machine's. */
const offsetMs = signal(0);

/** What a replica's clock said just now; it is held to be the database's, for what people read in seconds. */
export function noteServerTime(atMs: number): void {
  const offset = atMs - localNow();
  // Less than the time an answer may have been under way changes nothing that is shown.
  if (Math.abs(offset - offsetMs.peek()) > 1_000) offsetMs.value = offset;
}

/** About now by the database's clock. */
export function databaseNow(): number {
  return localNow() + offsetMs.peek();
}

/** The same for what is shown: the component that asks renders again every second. */
export function serverNow(): number {
  void tick.value;
  return localNow() + offsetMs.value;
}

/** Begins to count the seconds. */
export function startTicking(): void {
  setInterval(() => {
    if (!document.hidden) tick.value += 1;
  }, 1_000);
}
