import { errorText, type Clock, type Logger } from '@a2a-cluster/core';

/** The pause before a row that failed is tried again, doubled each time. Shorter: a broken row costs more calls. */
const FIRST_PAUSE_MS = 1_000;

/** The pause when nothing else could be swept either. Longer: turns are ended late once the database takes writes. */
const SUSPECT_PAUSE_MS = 500;

/** The longest pause. Longer: a row that was repaired by hand stays where it is. */
const LONGEST_PAUSE_MS = 300_000;

/** A row that could not be swept. */
export interface FailedRow {
  readonly taskId: string;
  readonly error: unknown;
}

interface BadRow {
  readonly attempts: number;
  readonly dueAtMs: number;
}

/**
 * The rows that failed, and when each is tried again: a bad one must not stop the others (protocol 6). A row is
 * blamed only when others could be swept in the same pass. Else it is tried again soon, so that a database which was
 * read-only for a while costs the turns no long pause.
 */
export class BadRows {
  readonly #rows = new Map<string, BadRow>();
  readonly #clock: Clock;
  readonly #logger: Logger;

  constructor(options: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = options.clock;
    this.#logger = options.logger;
  }

  get size(): number {
    return this.#rows.size;
  }

  has(taskId: string): boolean {
    return this.#rows.has(taskId);
  }

  ids(): string[] {
    return [...this.#rows.keys()];
  }

  /** The next row whose pause is over, the one that waited longest first. */
  nextDue(tried: ReadonlySet<string>): string | undefined {
    const nowMs = this.#clock.monotonicMs();
    return [...this.#rows]
      .filter(([taskId, row]) => row.dueAtMs <= nowMs && !tried.has(taskId))
      .sort(([, a], [, b]) => a.dueAtMs - b.dueAtMs)[0]?.[0];
  }

  /** Milliseconds until a row is due, or null when there is none. */
  nextDueMs(): number | null {
    if (this.#rows.size === 0) return null;
    const first = Math.min(...[...this.#rows.values()].map((row) => row.dueAtMs));
    return Math.max(0, first - this.#clock.monotonicMs());
  }

  /** Notes failures; logged at the 1st, 2nd, 4th, 8th .. of a row. */
  note(failed: readonly FailedRow[], others: { readonly succeeded: boolean }): void {
    for (const { taskId, error } of failed) {
      const attempts = (this.#rows.get(taskId)?.attempts ?? 0) + 1;
      const backoffMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(attempts - 1, 20));
      const pauseMs = others.succeeded ? backoffMs : SUSPECT_PAUSE_MS;
      this.#rows.set(taskId, { attempts, dueAtMs: this.#clock.monotonicMs() + pauseMs });
      if (Number.isInteger(Math.log2(attempts)))
        this.#logger.error(
          { taskId, attempts, pauseMs, error: errorText(error) },
          'an expired lease cannot be swept, it is skipped for now',
        );
    }
  }

  forget(taskId: string): void {
    this.#rows.delete(taskId);
  }
}
