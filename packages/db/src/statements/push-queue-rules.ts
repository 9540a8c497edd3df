/** A config without events is looked at again after a quarter of the time since it last changed, but not before. */
export const LEAST_PUT_OFF_MS = 5_000;

/** And not later than this. */
export const MOST_PUT_OFF_MS = 600_000;

/** A config that has had no task for this long is removed: its first message was answered without one. */
export const FORGOTTEN_AFTER_MS = 3_600_000;

/** When a config without events, which last changed so long ago, is looked at again. */
export function putOffMs(unchangedForMs: number): number {
  return Math.min(MOST_PUT_OFF_MS, Math.max(LEAST_PUT_OFF_MS, unchangedForMs / 4));
}

/** Text of a receiver that every database takes: PostgreSQL refuses NUL, and UTF-8 has no lone surrogates. */
export function storableText(text: string): string {
  return text.replaceAll('\u0000', '').toWellFormed();
}

/** The webhook of a config's payload, for operators; what is sent comes from the payload. */
export function urlOf(payload: string): string {
  try {
    const config: unknown = JSON.parse(payload);
    const url = typeof config === 'object' && config !== null && 'url' in config ? config.url : undefined;
    return typeof url === 'string' ? url : '';
  } catch {
    return '';
  }
}
