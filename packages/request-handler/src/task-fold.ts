import type { Task } from '@a2a-js/sdk';
import { decodeEvent, projectAll, type NewEvent, type TaskEvent } from '@a2a-cluster/core';

/** So many events are kept unfolded at most: their memory is bounded also where nobody asks for the task. */
const MOST_WAITING = 10_000;

/**
 * The task as the events of a turn leave it, folded only when somebody needs it: for a snapshot, an answer, or a
 * `task` event that merges with it. Folding at every event would copy the lists of the task each time, so that
 * event 10 000 would cost more than event 100.
 *
 * It decodes the stored form for itself: what it folds is shared with nobody, and is what any reader of the log
 * makes of it.
 */
export class TaskFold {
  private waiting: NewEvent[] = [];
  private folded = 0;

  /** @param task before the first event; undefined: none yet. Not changed. */
  constructor(private task: Task | undefined) {}

  /** How many events were added. */
  get count(): number {
    return this.folded + this.waiting.length;
  }

  /** Adds the next event, as it is stored: a `task` event is the merged task. */
  add(event: NewEvent): void {
    this.waiting.push(event);
    if (this.waiting.length > MOST_WAITING) this.at(this.count);
  }

  /**
   * The task after the first `count` events. Only forward: undefined where more have been folded already, or there
   * is no task yet. Treat it as read-only.
   */
  at(count: number): Task | undefined {
    if (count < this.folded || count > this.count) return undefined;
    const next = this.waiting.slice(0, count - this.folded);
    if (next.length > 0) {
      this.task = projectAll({ task: this.task, events: decoded(next) });
      this.waiting = this.waiting.slice(next.length);
      this.folded = count;
    }
    return this.task;
  }
}

function* decoded(events: readonly NewEvent[]): Generator<TaskEvent> {
  for (const { kind, payload } of events) yield decodeEvent(kind, payload);
}
