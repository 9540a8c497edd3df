import { nowMs, pause } from '../../world/now.js';

/** Asks until the answer is yes; gives after how many milliseconds it was, or null when it never was in time. */
export async function until(
  ask: () => Promise<boolean> | boolean,
  { withinMs, everyMs = 50 }: { readonly withinMs: number; readonly everyMs?: number },
): Promise<number | null> {
  const beganAtMs = nowMs();
  for (;;) {
    if (await ask()) return nowMs() - beganAtMs;
    if (nowMs() - beganAtMs > withinMs) return null;
    await pause(everyMs);
  }
}
