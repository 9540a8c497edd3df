import type { EventRow, Scope } from '@a2a-cluster/core';

/** Rows of one task that wait to be sent, in order. */
export interface WaitingTask {
  readonly taskId: string;
  readonly scope: Scope;
  rows: EventRow[];
  bytes: number;
}

/** How much may wait, in bytes of payload. */
export interface QueueLimits {
  readonly perTaskBytes: number;
  readonly totalBytes: number;
}

/**
 * What waits to be sent, per task, bounded: over a limit the oldest rows of the task that brings more are dropped,
 * but never its newest, which tells how the task stands.
 */
export class DeliveryQueue {
  private readonly waiting = new Map<string, WaitingTask>();
  private bytes = 0;

  constructor(private readonly limits: QueueLimits) {}

  get size(): number {
    return this.waiting.size;
  }

  /** `isNew`: nobody works on this task yet. */
  add(more: { readonly taskId: string; readonly scope: Scope; readonly rows: readonly EventRow[] }): {
    readonly isNew: boolean;
    readonly dropped: number;
  } {
    const present = this.waiting.get(more.taskId);
    const task = present ?? { taskId: more.taskId, scope: more.scope, rows: [], bytes: 0 };
    this.waiting.set(more.taskId, task);
    for (const row of more.rows) this.count(task, row.payload.length);
    task.rows.push(...more.rows);
    return { isNew: present === undefined, dropped: this.trim(task) };
  }

  /** Everything that waits for this task; it stays known until {@link finish}. */
  take(taskId: string): { readonly scope: Scope; readonly rows: readonly EventRow[] } | null {
    const task = this.waiting.get(taskId);
    if (task === undefined || task.rows.length === 0) return null;
    const { scope, rows } = task;
    this.count(task, -task.bytes);
    task.rows = [];
    return { scope, rows };
  }

  finish(taskId: string): void {
    this.waiting.delete(taskId);
  }

  private trim(task: WaitingTask): number {
    let dropped = 0;
    let over = this.excess(task);
    while (over > 0 && dropped < task.rows.length - 1) {
      const size = task.rows[dropped]?.payload.length ?? 0;
      this.count(task, -size);
      over = this.excess(task);
      dropped += 1;
    }
    if (dropped > 0) task.rows.splice(0, dropped);
    return dropped;
  }

  private excess(task: WaitingTask): number {
    return Math.max(task.bytes - this.limits.perTaskBytes, this.bytes - this.limits.totalBytes);
  }

  private count(task: WaitingTask, bytes: number): void {
    task.bytes += bytes;
    this.bytes += bytes;
  }
}
