import type { WireEvent } from './a2a-client.js';

/** What a stream has said so far, and ways to wait for what it will say. */
export class Recording {
  readonly events: WireEvent[] = [];
  /** Resolves with the error that ended the stream, or with null when it ended well. */
  readonly ended: Promise<Error | null>;
  private readonly waiters = new Set<() => void>();

  constructor(source: AsyncGenerator<WireEvent, void, undefined>) {
    this.ended = this.record(source);
  }

  /** The first event that fits, seen already or to come; rejects when the stream ends without one. */
  async find(fits: (event: WireEvent) => boolean): Promise<WireEvent> {
    for (;;) {
      const found = this.events.find(fits);
      if (found) return found;
      const ended = await Promise.race([this.ended.then((error) => ({ error })), this.more()]);
      if (ended === undefined) continue;
      const last = this.events.find(fits);
      if (last) return last;
      throw new Error(`the stream ended without it: ${JSON.stringify(this.states())}`, {
        cause: ended.error,
      });
    }
  }

  /** The id of the task the stream is about. */
  async taskId(): Promise<string> {
    const event = await this.find((each) => each.task !== undefined || each.statusUpdate !== undefined);
    return event.task?.id ?? event.statusUpdate?.taskId ?? '';
  }

  /** The states seen, in order, without what has none. */
  states(): string[] {
    return this.events.flatMap((event) => stateOf(event) ?? []);
  }

  private more(): Promise<undefined> {
    return new Promise((resolve) => this.waiters.add(() => resolve(undefined)));
  }

  private async record(source: AsyncGenerator<WireEvent, void, undefined>): Promise<Error | null> {
    try {
      for await (const event of source) {
        this.events.push(event);
        for (const wake of this.waiters) wake();
        this.waiters.clear();
      }
      return null;
    } catch (error) {
      return error as Error;
    }
  }
}

/** The state an event names. */
export function stateOf(event: WireEvent): string | undefined {
  return event.task?.status.state ?? event.statusUpdate?.status.state;
}

/** The text of a status update's message. */
export function textOf(event: WireEvent): string {
  return event.statusUpdate?.status.message?.parts[0]?.text ?? '';
}
