import { errorText, type Clock, type Logger } from '@a2a-cluster/core';

/** The pause before a row that failed is tried again, doubled each time. Shorter: a broken row costs more calls. */
const FIRST_PAUSE_MS = 1_000;

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
  /** Nothing else could be swept either, so the fault may be the database's and not the row's. */
  readonly suspect: boolean;
}

/**
 * The rows that failed, and when each is tried again: a bad one must not stop the others (protocol 6). A row is
 * blamed only when others could be swept meanwhile. Until then it is a suspect: tried once a second, and at once
 * when anything succeeds, so that a database which was read-only for a while costs the turns no long pause.
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
      const suspect = !others.succeeded;
      const backoffMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(attempts - 1, 20));
      const pauseMs = suspect ? FIRST_PAUSE_MS : backoffMs;
      this.#rows.set(taskId, { attempts, suspect, dueAtMs: this.#clock.monotonicMs() + pauseMs });
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

  /** Something could be swept: the suspects are worth another try now. */
  wakeSuspects(): void {
    const dueAtMs = this.#clock.monotonicMs();
    for (const [taskId, row] of this.#rows) if (row.suspect) this.#rows.set(taskId, { ...row, dueAtMs });
  }
}
