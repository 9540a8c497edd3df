import { errorText, type Logger } from '@a2a-cluster/core';

/** The most passes that a task is left out of. More: one that was repaired by hand stays for longer. */
const MOST_PASSES = 64;

/** So many are remembered; beyond it the oldest are tried again sooner. */
const MOST_REMEMBERED = 1_000;

/** After so many failures and no success it is more likely the database than the tasks: the pass ends. */
const HOPELESS_FAILURES = 8;

/** The tasks that could not be done: each is left out of 1, 2, 4 .. passes, so that it costs the others little. */
export class BadTasks {
  readonly #tasks = new Map<string, { readonly failures: number; readonly until: number }>();
  #pass = 0;
  #failed = 0;
  #succeeded = false;

  constructor(private readonly logger: Logger) {}

  /** How many failed in this pass. */
  get failed(): number {
    return this.#failed;
  }

  beginPass(): void {
    this.#pass += 1;
    this.#failed = 0;
    this.#succeeded = false;
  }

  isLeftOut(taskId: string): boolean {
    return this.#pass < (this.#tasks.get(taskId)?.until ?? 0);
  }

  /** Notes a failure; logged at the 1st, 2nd, 4th .. of a task. @throws the error, where nothing works at all. */
  failedWith(taskId: string, error: unknown): void {
    const failures = (this.#tasks.get(taskId)?.failures ?? 0) + 1;
    const passes = Math.min(MOST_PASSES, 2 ** Math.min(failures, 10));
    this.#tasks.delete(taskId);
    this.#tasks.set(taskId, { failures, until: this.#pass + passes });
    const [oldest] = this.#tasks.keys();
    if (this.#tasks.size > MOST_REMEMBERED && oldest !== undefined) this.#tasks.delete(oldest);
    this.#failed += 1;
    if (Number.isInteger(Math.log2(failures)))
      this.logger.error(
        { taskId, failures, error: errorText(error) },
        'an ended task cannot be pruned, it is left out for now',
      );
    if (!this.#succeeded && this.#failed >= HOPELESS_FAILURES) throw error;
  }

  /** Notes that something could be done: the database is not to blame for what fails. */
  done(taskIds: readonly string[]): void {
    if (taskIds.length > 0) this.#succeeded = true;
    for (const taskId of taskIds) this.#tasks.delete(taskId);
  }
}
