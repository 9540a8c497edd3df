import { signal, type Signal } from '@preact/signals';
import { ApiFailure, EVENT_PAGE_SIZE, readEvents } from '../api/client.js';
import type { EventInfo } from '../api/index.js';
import { mergeEvents } from '../text/timeline.js';

/** What is on the page of a task's log. */
export interface LogState {
  readonly events: readonly EventInfo[];
  /** Events up to this seq have not been asked for: they lie before what is shown. */
  readonly from: number;
  readonly loading: boolean;
  readonly failure: ApiFailure | null;
}

/**
 * A task's log on the page: its end first, as the newest is what one looks for; then what comes, and what lies before
 * on demand. Each event is asked for once.
 */
export class EventLog {
  readonly state: Signal<LogState> = signal({ events: [], from: 0, loading: true, failure: null });
  private readonly controller = new AbortController();
  private last: number | null = null;
  private version = 0;
  private busy = false;

  constructor(private readonly taskId: string) {}

  /** The task has this version now: reads what is not there yet. */
  follow(version: number): void {
    this.version = Math.max(version, this.version);
    if (this.last === null) {
      this.last = Math.max(0, version - EVENT_PAGE_SIZE);
      this.set({ from: this.last });
    }
    void this.catchUp();
  }

  /** Reads what lies before the first event that is shown. */
  async readEarlier(): Promise<void> {
    const { from } = this.state.peek();
    const after = Math.max(0, from - EVENT_PAGE_SIZE);
    if (from === 0 || !(await this.read({ after, limit: from - after }))) return;
    this.set({ from: after });
  }

  /** Reads again what could not be read. */
  async catchUp(): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    while (this.last !== null && this.last < this.version) {
      const until = this.version;
      const found = await this.read({ after: this.last, limit: EVENT_PAGE_SIZE });
      if (found === null) break;
      // Nothing there means deleted by retention: it is not asked for again.
      this.last = found.at(-1)?.seq ?? until;
    }
    this.busy = false;
    if (!this.controller.signal.aborted) this.set({ loading: false });
  }

  /** Asks for nothing any more. */
  close(): void {
    this.controller.abort();
  }

  private async read(range: {
    readonly after: number;
    readonly limit: number;
  }): Promise<readonly EventInfo[] | null> {
    this.set({ loading: true, failure: null });
    try {
      const { events } = await readEvents(this.taskId, range, this.controller.signal);
      this.set({ events: mergeEvents(this.state.peek().events, events), loading: false });
      return events;
    } catch (cause) {
      if (this.controller.signal.aborted) return null;
      const failure = cause instanceof ApiFailure ? cause : new ApiFailure(0, String(cause));
      this.set({ failure, loading: false });
      return null;
    }
  }

  private set(change: Partial<LogState>): void {
    this.state.value = { ...this.state.peek(), ...change };
  }
}
