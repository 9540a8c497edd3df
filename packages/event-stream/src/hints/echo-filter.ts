import type { Clock } from '@a2a-cluster/core';

const EXPECTED_WITHIN_MS = 1_000;

/**
 * LISTEN hears this replica's own hints too. What was sent is expected back once and passed over then, which spares
 * a read per hint of what this replica wrote itself. Should the echo be somebody else's hint for the same task, the
 * own one that follows is let through instead, so the last hint always counts.
 */
export class EchoFilter {
  readonly #clock: Clock;
  readonly #expected = new Map<string, { count: number; sentMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  sent(taskIds: readonly string[]): void {
    const sentMs = this.#clock.monotonicMs();
    for (const taskId of taskIds) {
      const count = (this.#expected.get(taskId)?.count ?? 0) + 1;
      this.#expected.set(taskId, { count, sentMs });
    }
  }

  /** The ids that are not echoes. */
  news(taskIds: readonly string[]): string[] {
    return taskIds.filter((taskId) => !this.#isEcho(taskId));
  }

  /** Expects nothing any more: the sending failed, or the listening connection was replaced. */
  forget(taskIds?: readonly string[]): void {
    if (taskIds === undefined) this.#expected.clear();
    else for (const taskId of taskIds) this.#expected.delete(taskId);
  }

  #isEcho(taskId: string): boolean {
    const expected = this.#expected.get(taskId);
    if (expected === undefined) return false;
    expected.count -= 1;
    if (expected.count === 0) this.#expected.delete(taskId);
    return this.#clock.monotonicMs() - expected.sentMs <= EXPECTED_WITHIN_MS;
  }
}
