/** The longest wait that a webhook may ask for, in milliseconds: an hour. */
export const MAX_RETRY_AFTER_MS = 3_600_000;

/** The three forms of a date in HTTP (RFC 9110, 5.6.7). */
const HTTP_DATES: readonly RegExp[] = [
  /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/,
];

/**
 * The wait that a `Retry-After` header asks for, in milliseconds from 0 to {@link MAX_RETRY_AFTER_MS}: seconds, or a
 * date that is compared with `nowMs` (Unix time). Null when it is absent, said twice or neither.
 */
export function parseRetryAfter(
  header: string | readonly string[] | undefined,
  nowMs: () => number,
): number | null {
  if (typeof header !== 'string') return null;
  const text = header.trim();
  if (/^\d+$/.test(text)) return clamp(Number(text) * 1_000);
  if (!HTTP_DATES.some((form) => form.test(text))) return null;
  const date = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(date) ? null : clamp(date - nowMs());
}

function clamp(waitMs: number): number {
  return Math.min(Math.max(waitMs, 0), MAX_RETRY_AFTER_MS);
}
