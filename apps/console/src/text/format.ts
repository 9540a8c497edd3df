/** A number for people: `12 345`, `0.4`. Rates below 10 keep one digit after the point. */
export function count(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const rounded = Math.abs(value) < 10 ? Math.round(value * 10) / 10 : Math.round(value);
  const [whole = '0', fraction] = String(rounded).split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ' ');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

/** `1 task`, `2 tasks`. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

const STEPS = [
  { unit: 's', ms: 1_000 },
  { unit: 'min', ms: 60_000 },
  { unit: 'h', ms: 3_600_000 },
  { unit: 'd', ms: 86_400_000 },
] as const;

/** A length of time in its largest unit: `350 ms`, `12 s`, `3 min`, `5 h`, `2 d`. Negative counts as none. */
export function duration(ms: number): string {
  if (!Number.isFinite(ms)) return '–';
  const length = Math.max(0, ms);
  if (length < 1_000) return `${Math.round(length)} ms`;
  const step = STEPS.findLast((candidate) => length >= candidate.ms) ?? STEPS[0];
  return `${Math.floor(length / step.ms)} ${step.unit}`;
}

/** How long ago: `just now`, `3 min ago`. What seems to lie ahead is just now: clocks differ a little. */
export function ago(ms: number): string {
  return ms < 2_000 ? 'just now' : `${duration(ms)} ago`;
}

/** What is left of a countdown: `14 s`, `1 min 05 s`; `null` once it is over. */
export function countdown(ms: number): string | null {
  if (ms <= 0) return null;
  const seconds = Math.ceil(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, '0')} s`;
}

/** Bytes for people: `512 B`, `3.4 kB`, `12 MB`. */
export function bytes(value: number): string {
  if (value < 1_000) return `${value} B`;
  const units = ['kB', 'MB', 'GB'];
  let rest = value;
  let unit = 'B';
  for (const next of units) {
    if (rest < 1_000) break;
    rest /= 1_000;
    unit = next;
  }
  return `${rest < 10 ? rest.toFixed(1) : Math.round(rest)} ${unit}`;
}

/** A long id with its middle left out; `keep` characters stay at most. */
export function shorten(id: string, keep = 17): string {
  if (id.length <= keep) return id;
  const half = Math.floor((keep - 1) / 2);
  return `${id.slice(0, half)}…${id.slice(id.length - half)}`;
}

/** A word with a large first letter. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
