import type { Message, TaskState } from '@a2a-js/sdk';
import type { EventRow, TaskEvent } from '@a2a-cluster/core';
import type { Tail, TailItem } from '@a2a-cluster/event-stream';
import { meaningOf, stateAfter, type EventMeaning } from './end-rules.js';
import type { RunningTurn } from './running-turn.js';
import type { TurnOutcome } from './turn-spec.js';
import { outcomeUnknown, taskPurged } from './refusals.js';

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
 * @throws A2AError when the task vanished, or never was known to be stored; what the tail throws, such as that rows were
 * pruned.
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
      if (item.type === 'gone')
        throw follow.epoch === null ? outcomeUnknown(follow.taskId) : taskPurged(follow.taskId);
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
  private outcome: TurnOutcome | null = null;
  private wake: (() => void) | null = null;
  private pending: Promise<void> | null = null;
  private arrived: { readonly item: TailItem | null } | { readonly error: unknown } | null = null;

  constructor({ tail, taskId, turn }: FollowTurn) {
    this.tail = tail;
    this.taskId = taskId;
    // One reaction for all of the turn: a race per event would pile them up on the promise.
    void turn?.outcome.then((outcome) => {
      this.outcome = outcome;
      this.wake?.();
    });
  }

  /** The next of the log; what is in the log comes before what the turn says. */
  async next(): Promise<SourceItem | null> {
    for (;;) {
      this.pull();
      await new Promise<void>((resolve) => {
        this.wake = resolve;
        if (this.arrived !== null || this.outcome !== null) resolve();
      });
      this.wake = null;
      const { arrived, outcome } = this;
      if (arrived !== null) {
        this.arrived = null;
        if ('error' in arrived) throw arrived.error;
        return arrived.item;
      }
      // All but these two is told by the log as well.
      this.outcome = null;
      if (outcome?.type === 'message') return outcome;
      if (outcome?.type === 'fault') throw outcomeUnknown(this.taskId);
    }
  }

  private pull(): void {
    if (this.arrived !== null) return;
    this.pending ??= this.tail
      .next()
      .then(
        (item) => void (this.arrived = { item }),
        (error: unknown) => void (this.arrived = { error }),
      )
      .then(() => {
        this.pending = null;
        this.wake?.();
      });
  }
}
