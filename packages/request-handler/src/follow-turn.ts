import type { Message, TaskState } from '@a2a-js/sdk';
import type { EventRow, TaskEvent } from '@a2a-cluster/core';
import type { Tail, TailItem } from '@a2a-cluster/event-stream';
import { meaningOf, stateAfter, type EventMeaning } from './end-rules.js';
import type { RunningTurn } from './running-turn.js';
import type { TurnOutcome } from './turn-spec.js';
import { outcomeUnknown } from './refusals.js';

/** An event that is for clients. */
export type VisibleEvent = Exclude<TaskEvent, { kind: 'message' }>;

/** What a follower of a turn is given. */
export type Followed =
  | {
      readonly type: 'event';
      readonly row: EventRow;
      readonly event: VisibleEvent;
      readonly meaning: EventMeaning;
    }
  /** The agent answered with a message; it is the last thing. */
  | { readonly type: 'message'; readonly message: Message };

/** What is followed. */
export interface FollowTurn {
  readonly tail: Tail;
  readonly taskId: string;
  /** The turn's epoch; null: a new task, whose first turn it is. */
  readonly epoch: number | null;
  /** The state of the task when the turn began. */
  readonly stateBefore: TaskState | undefined;
  /** The turn, where it runs here. */
  readonly turn?: RunningTurn;
}

/** The epoch of a new task's first turn. */
const FIRST_EPOCH = 1;

/**
 * The visible events of one turn, until it ends: at a message, a terminal event, the request for input, or when its
 * lease is gone (protocol 7). Everything comes from the log, so it is durable before it is seen.
 *
 * @throws A2AError when the task vanished, or never was known to be stored.
 */
export async function* followTurn(follow: FollowTurn): AsyncGenerator<Followed, void, undefined> {
  const epoch = follow.epoch ?? FIRST_EPOCH;
  let state = follow.stateBefore;
  const source = new TurnSource(follow);
  try {
    for (;;) {
      const item = await source.next();
      if (item === null) return;
      if (item.type === 'message') {
        yield item;
        return;
      }
      if (item.type === 'gone') throw outcomeUnknown(follow.taskId);
      if (item.type === 'head') {
        if (item.head.lease?.epoch !== epoch) return;
        continue;
      }
      if (item.row.epoch !== epoch) return;
      if (item.event.kind === 'message') continue;
      const meaning = meaningOf(item.event, state);
      state = stateAfter(item.event) ?? state;
      yield { type: 'event', row: item.row, event: item.event, meaning };
      if (meaning === 'terminal' || meaning === 'input_required') return;
    }
  } finally {
    follow.tail.close();
  }
}

type SourceItem = TailItem | { readonly type: 'message'; readonly message: Message };

/** The log, and what the turn says beside it. */
class TurnSource {
  private readonly tail: Tail;
  private readonly taskId: string;
  private outcome: Promise<TurnOutcome> | null;
  private pending: Promise<TailItem | null> | null = null;

  constructor(follow: FollowTurn) {
    this.tail = follow.tail;
    this.taskId = follow.taskId;
    this.outcome = follow.turn?.outcome ?? null;
  }

  async next(): Promise<SourceItem | null> {
    for (;;) {
      this.pending ??= this.tail.next();
      if (this.outcome === null) return this.take(await this.pending);
      const first = await Promise.race([this.pending.then(() => null), this.outcome]);
      if (first === null) return this.take(await this.pending);
      // Anything but a message is told by the log as well; what is in the log comes first.
      this.outcome = null;
      if (first.type === 'message') return first;
      if (first.type === 'fault') throw outcomeUnknown(this.taskId);
    }
  }

  private take(item: TailItem | null): TailItem | null {
    this.pending = null;
    return item;
  }
}
