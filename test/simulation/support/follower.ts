import { StreamResponse, Task } from '@a2a-js/sdk';
import { isTerminalName, type EventRow } from '@a2a-cluster/core';
import { foldRows } from '@a2a-cluster/task-store';
import { stateOf, type WatchedTask } from './watch.js';
import type { World } from './world.js';

/** How a follower began. */
export type Following =
  /** A new task: everything from its first event. */
  | { readonly kind: 'new' }
  /** A follow-up: from its message on, or the task as it was then if the message had been sent before. */
  | { readonly kind: 'followUp'; readonly taskId: string; readonly messageId: string }
  | { readonly kind: 'subscribe'; readonly taskId: string };

/**
 * Compares what a subscriber sees with the log at that very moment: an event that is not in the log yet, a gap or a
 * repetition is a violation (I5, and "durable before seen").
 */
export class Follower {
  /** The seq up to which it has seen everything; null: nothing came yet. */
  private cursor: number | null = null;
  private task: WatchedTask | undefined;
  private last: EventRow | undefined;
  /** More came than the task it began with. */
  private moved = false;
  /** What came first was either the task as a turn found it or the same task, echoed by its agent. */
  private mayComeTwice = false;

  constructor(
    private readonly world: World,
    readonly following: Following,
  ) {}

  take(response: StreamResponse): void {
    const { payload } = response;
    if (payload?.$case === 'message') return;
    if (this.cursor === null) return this.begin(response);
    this.moved = true;
    const next = this.nextRow();
    const text = JSON.stringify(StreamResponse.toJSON(response));
    if (this.mayComeTwice && this.last?.payload === text && next?.payload !== text)
      return void (this.mayComeTwice = false);
    if (next?.payload !== text)
      return this.violated(`I5 after seq ${this.cursor} came ${text} and not ${next?.payload ?? 'nothing'}`);
    this.cursor = next.seq;
    this.last = next;
  }

  /** The stream was ended by its replica. */
  ended(): void {
    if (this.cursor === null || this.following.kind !== 'subscribe') return;
    const state = this.moved && this.last ? stateOf(this.last) : undefined;
    if (state === undefined || !(isTerminalName(state) || state === 'TASK_STATE_INPUT_REQUIRED'))
      this.violated(`I5 a subscription ended after seq ${this.cursor}, in the middle`);
  }

  /** Nothing moves any more and the stream is still open: it must have seen everything, and wait for a next turn. */
  settled(): void {
    const { task } = this;
    const missed = this.nextRow();
    if (missed) this.violated(`I5 seq ${missed.seq} never came`);
    if (this.following.kind !== 'subscribe')
      this.violated('I5 the stream of a turn that is over is still open');
    else if (task && isTerminalName(task.state)) this.violated('I5 a subscription outlives its task');
  }

  private begin(response: StreamResponse): void {
    const { following, world } = this;
    const { payload } = response;
    const first = payload?.$case === 'task' ? payload.value : undefined;
    const taskId = following.kind === 'new' ? idOf(response) : following.taskId;
    this.task = world.watch.tasks.get(taskId);
    if (this.task === undefined) return this.violated('I5 an event of a task that is not stored');
    if (following.kind === 'subscribe') return this.subscribed(this.task, first);
    const opened =
      following.kind === 'new' ? 0 : this.task.rows.find((row) => row.messageId === following.messageId)?.seq;
    this.start(opened);
    // A repetition starts with the task as its turn found it.
    const repeated = first && opened ? isVersion(this.task, { seq: opened, task: first }) : false;
    const echoed = this.nextRow()?.payload === JSON.stringify(StreamResponse.toJSON(response));
    this.mayComeTwice = repeated && echoed;
    if (this.cursor !== null && (echoed || !repeated)) this.take(response);
  }

  /** Where an event left the task as it was, either version may be the one that was read. */
  private subscribed(task: WatchedTask, first: Task | undefined): void {
    const seq = first && versionOf(task, first);
    this.start(seq);
    if (first === undefined || seq === undefined || seq < 2) return;
    this.last = task.rows[seq - 1];
    this.mayComeTwice = isVersion(task, { seq: seq - 1, task: first });
  }

  private start(seq: number | undefined): void {
    this.cursor = seq ?? null;
    if (seq === undefined) this.violated('I5 a stream began with what the log does not have');
  }

  private nextRow(): EventRow | undefined {
    const { cursor, task } = this;
    return cursor === null ? undefined : task?.rows.slice(cursor).find((row) => row.kind !== 'message');
  }

  private violated(what: string): void {
    this.world.violated(`${what} (task ${this.task?.taskId ?? '?'}, ${this.following.kind})`);
  }
}

function idOf({ payload }: StreamResponse): string {
  if (payload?.$case === 'task') return payload.value.id;
  return payload?.$case === 'statusUpdate' || payload?.$case === 'artifactUpdate' ? payload.value.taskId : '';
}

/** The seq as of which a task is exactly this document; undefined: there is none. The latest comes first. */
export function versionOf(task: WatchedTask, document: Task): number | undefined {
  for (let seq = task.rows.length; seq > 0; seq -= 1)
    if (isVersion(task, { seq, task: document })) return seq;
  return undefined;
}

function isVersion(task: WatchedTask, at: { readonly seq: number; readonly task: Task }): boolean {
  const folded = foldRows({ task: undefined, rows: task.rows.slice(0, at.seq) });
  return folded !== undefined && textOf(folded) === textOf(at.task);
}

function textOf(task: Task): string {
  return JSON.stringify(Task.toJSON(task));
}
