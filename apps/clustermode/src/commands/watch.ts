import { createSystemClock, errorText, isClusterError, sleep, type Clock } from '@a2a-cluster/core';
import { EXIT_OK } from '../exit-code.js';
import { watchStopSignals } from '../stop-signals.js';
import { textOfRows, type PrintOptions } from '../table.js';

/** What is shown: rows, and what stands in their place when there are none. */
export type Listing = Omit<PrintOptions, 'json'>;

/** Options of {@link show}. */
export interface ShowOptions {
  readonly json: boolean;
  /** Milliseconds between two looks; undefined: look once. */
  readonly everyMs?: number | undefined;
  /** Stands above the table when it is watched. */
  readonly title: string;
  read(): Promise<Listing>;
}

/** The least a table needs of a terminal that is lower than it. */
const LEAST_LINES = 5;
const CLEAR = '\u001B[H\u001B[J';

/**
 * Prints a listing once, or again and again until Ctrl-C or until nobody reads any more; the exit code. On a terminal
 * the table is drawn in its place; elsewhere tables follow each other, and with `json` one JSON object per look: `at`
 * with `rows`, or with `error` while the database does not answer, which ends nothing.
 */
export async function show(options: ShowOptions): Promise<number> {
  const { json, everyMs, read } = options;
  if (everyMs === undefined) {
    process.stdout.write(`${textOfRows({ ...(await read()), json })}\n`);
    return EXIT_OK;
  }
  const clock = createSystemClock();
  const over = untilStopped();
  const frames = json ? jsonFrames(clock) : tableFrames({ clock, everyMs, title: options.title });
  while (!over.aborted) {
    const look = await lookOnce({ read, over });
    if (look !== undefined) process.stdout.write(frames(look));
    await sleep({ clock, delayMs: everyMs, signal: over });
  }
  return EXIT_OK;
}

/** Aborts at Ctrl-C, at the wish of the parent, and when what we write is read by nobody any more. */
export function untilStopped(): AbortSignal {
  const stop = new AbortController();
  void watchStopSignals((code) => process.exit(code)).stop.then(() => stop.abort());
  process.stdout.on('error', () => stop.abort());
  return stop.signal;
}

/** What a look gave. */
type Look = { readonly listing: Listing } | { readonly error: string };

async function lookOnce(options: {
  read(): Promise<Listing>;
  readonly over: AbortSignal;
}): Promise<Look | undefined> {
  const { read, over } = options;
  // A look that hangs does not keep Ctrl-C waiting.
  const stopped = new Promise<undefined>((resolve) =>
    over.addEventListener('abort', () => resolve(undefined), { once: true }),
  );
  const look = read().then(
    (listing): Look => ({ listing }),
    (error: unknown): Look => {
      if (!isClusterError(error)) throw error;
      return { error: errorText(error) };
    },
  );
  return Promise.race([look, stopped]);
}

function jsonFrames(clock: Clock): (look: Look) => string {
  return (look) => {
    const what = 'error' in look ? { error: look.error } : { rows: look.listing.rows };
    return `${JSON.stringify({ at: clock.wallIso(), ...what })}\n`;
  };
}

function tableFrames(options: {
  readonly clock: Clock;
  readonly everyMs: number;
  readonly title: string;
}): (look: Look) => string {
  const { clock, everyMs, title } = options;
  const { isTTY: onTerminal, rows: height = LEAST_LINES } = process.stdout;
  let last = '';
  return (look) => {
    const at = clock.wallIso().slice(11, 19);
    const head = `${title}, every ${everyMs / 1_000} s, ${at} UTC`;
    if ('error' in look)
      return onTerminal
        ? `${CLEAR}${head}\nThe database does not answer; this is what it said last. ${look.error}\n${last}\n`
        : `${head}\nThe database does not answer. ${look.error}\n\n`;
    last = textOfRows({ ...look.listing, json: false });
    if (!onTerminal) return `${head}\n${last}\n\n`;
    last = cut(last, Math.max(LEAST_LINES, (process.stdout.rows ?? height) - 3));
    return `${CLEAR}${head}\n${last}\n`;
  };
}

function cut(text: string, lines: number): string {
  const all = text.split('\n');
  if (all.length <= lines) return text;
  return [...all.slice(0, lines - 1), `… ${all.length - lines + 1} more`].join('\n');
}
