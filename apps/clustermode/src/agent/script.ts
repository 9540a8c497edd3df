/** Publishes `count` WORKING updates, one every `paceMs`. */
export interface TickStep {
  readonly kind: 'tick';
  readonly count: number;
  readonly paceMs: number;
}

/** Appends `count` parts of `bytes` bytes to the artifact `output`, one every `paceMs`. */
export interface ChunkStep {
  readonly kind: 'chunk';
  readonly count: number;
  readonly bytes: number;
  readonly paceMs: number;
}

/** A step that lasts: `sleep`, `deaf`, `block`, `linger`, `auth`. */
export interface TimedStep {
  readonly kind: 'sleep' | 'deaf' | 'block' | 'linger' | 'auth';
  readonly ms: number;
}

/** A step that says something: `ask`, `say`, `fail`, `reject`, `done`. */
export interface TextStep {
  readonly kind: 'ask' | 'say' | 'fail' | 'reject' | 'done';
  readonly text: string;
}

/** One step of a script. */
export type Step = TickStep | ChunkStep | TimedStep | TextStep;

/** Most repetitions of one step. */
export const MAX_COUNT = 1_000_000;
/** Longest time of one step: a day, in milliseconds. */
export const MAX_STEP_MS = 86_400_000;
/** Largest part of a `chunk`, in bytes. */
export const MAX_CHUNK_BYTES = 64 * 1024 * 1024;

const ENDINGS: ReadonlySet<Step['kind']> = new Set(['ask', 'say', 'fail', 'reject', 'done']);

/**
 * The script a message text is. Never fails: a text that is no script means `tick 5 1000; done <text>`.
 *
 *     script = step { (";" | newline) step }        empty steps are skipped
 *     step   = "tick" N MS | "chunk" N BYTES MS | ("sleep" | "deaf" | "block" | "linger" | "auth") MS
 *            | ("ask" | "say" | "fail" | "reject" | "done") [ TEXT ]
 *
 * Numbers are plain decimal digits within {@link MAX_COUNT}, {@link MAX_STEP_MS} and {@link MAX_CHUNK_BYTES}. `say`
 * stands first only, `linger` directly after `ask` only. One bad step makes the whole text no script. What follows
 * an ending step is dropped (but for the `linger` of an `ask`), and a script without one ends in `done`.
 */
export function parseScript(text: string): readonly Step[] {
  return (
    stepsOf(text) ?? [
      { kind: 'tick', count: 5, paceMs: 1000 },
      { kind: 'done', text: text.trim() },
    ]
  );
}

function stepsOf(text: string): readonly Step[] | undefined {
  const lines = text
    .split(/[;\r\n]/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
  if (lines.length === 0) return undefined;
  const steps: Step[] = [];
  for (const line of lines) {
    const step = parseStep(line);
    if (step === undefined || !mayFollow(step, steps.at(-1))) return undefined;
    steps.push(step);
  }
  return upToEnding(steps);
}

/** Whether the step may stand after the one before it. */
function mayFollow(step: Step, before: Step | undefined): boolean {
  if (step.kind === 'say') return before === undefined;
  if (step.kind === 'linger') return before?.kind === 'ask';
  return true;
}

function upToEnding(steps: readonly Step[]): readonly Step[] {
  const at = steps.findIndex((step) => ENDINGS.has(step.kind));
  if (at === -1) return [...steps, { kind: 'done', text: '' }];
  return steps.slice(0, steps[at + 1]?.kind === 'linger' ? at + 2 : at + 1);
}

function parseStep(line: string): Step | undefined {
  const word = /^[a-z]+(?=\s|$)/.exec(line)?.[0] ?? '';
  const rest = line.slice(word.length).trim();
  switch (word) {
    case 'tick':
      return tick(numbers(rest, [MAX_COUNT, MAX_STEP_MS]));
    case 'chunk':
      return chunk(numbers(rest, [MAX_COUNT, MAX_CHUNK_BYTES, MAX_STEP_MS]));
    case 'sleep':
    case 'deaf':
    case 'block':
    case 'linger':
    case 'auth':
      return timed(word, numbers(rest, [MAX_STEP_MS]));
    case 'ask':
    case 'say':
    case 'fail':
    case 'reject':
    case 'done':
      return { kind: word, text: rest };
    default:
      return undefined;
  }
}

function tick(values: readonly number[]): Step | undefined {
  const [count, paceMs] = values;
  return count === undefined || paceMs === undefined ? undefined : { kind: 'tick', count, paceMs };
}

function chunk(values: readonly number[]): Step | undefined {
  const [count, bytes, paceMs] = values;
  if (count === undefined || bytes === undefined || paceMs === undefined) return undefined;
  return { kind: 'chunk', count, bytes, paceMs };
}

function timed(kind: TimedStep['kind'], values: readonly number[]): Step | undefined {
  const [ms] = values;
  return ms === undefined ? undefined : { kind, ms };
}

/** As many numbers as there are limits, or none at all. */
function numbers(text: string, limits: readonly number[]): readonly number[] {
  const words = text.split(/\s+/);
  const values = words.map(Number);
  const fits = words.every((word, at) => /^\d+$/.test(word) && Number(word) <= (limits[at] ?? -1));
  return fits && words.length === limits.length ? values : [];
}
