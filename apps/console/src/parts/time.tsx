import { monotonicNow, serverNow, tick } from '../state/clock.js';
import { ago, countdown } from '../text/format.js';

function iso(atMs: number): string {
  const date = new Date(atMs);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString();
}

/** `3 min ago`, with the exact moment on hover and for machines. */
export function Ago({ atMs }: { readonly atMs: number }) {
  const exact = iso(atMs);
  return (
    <time dateTime={exact} title={exact.replace('T', ' ').replace('Z', ' UTC')}>
      {ago(serverNow() - atMs)}
    </time>
  );
}

/** The hour of a moment to the millisecond, as the reader's clocks have it; the whole on hover. */
export function Hour({ atMs }: { readonly atMs: number }) {
  const exact = iso(atMs);
  const date = new Date(atMs);
  const pad = (value: number, digits = 2): string => String(value).padStart(digits, '0');
  const text = `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
  return (
    <time dateTime={exact} title={exact.replace('T', ' ').replace('Z', ' UTC')}>
      {text}
      <span class="quiet">.{pad(date.getMilliseconds(), 3)}</span>
    </time>
  );
}

/** What is left until a moment of {@link monotonicNow}. A timer: screen readers do not say each second. */
export function Countdown({ until, over }: { readonly until: number; readonly over: string }) {
  void tick.value;
  return <span role="timer">{countdown(until - monotonicNow()) ?? over}</span>;
}
